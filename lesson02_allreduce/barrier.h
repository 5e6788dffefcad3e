/*
 * barrier: nobody goes on before everybody has come.
 *
 * The dissemination barrier (Hensgen, Finkel and Manber, "Two algorithms for barrier
 * synchronization", 1988): in round k each rank tells the rank 2^k to its right. After ceil(log2 R)
 * rounds it has heard, through others, of all:
 *
 *     4 ranks, what rank 3 knows:   round 0: hears 2      round 1: hears 1, which heard 0
 */
#ifndef LESSON02_BARRIER_H
#define LESSON02_BARRIER_H

#include "lesson02_allreduce/comm.h"

/* Returns once every rank has called it: 0, or the communicator's error. */
int barrier(struct comm *comm);

#endif
