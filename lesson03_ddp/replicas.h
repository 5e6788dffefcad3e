/*
 * replicas: all ranks begin with the same parameters, or do not begin.
 */
#ifndef LESSON03_REPLICAS_H
#define LESSON03_REPLICAS_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

/* Compares names and shapes of all parameters (manifest.h), sends rank 0's values to all and compares
 * hashes. 0, or an error: the communicator's, or, on every rank alike, run->fail when some rank has
 * other parameters than rank 0. */
int replicas_begin(struct run *run, struct comm *comm);

#endif
