/*
 * asked: what lesson 2 may be asked for instead of training.
 */
#ifndef LESSON02_ASKED_H
#define LESSON02_ASKED_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

/* --explain: draws the all-reduce of this run's gradient, by --algorithm. It needs nobody else, so
 * rank 0 draws and the others do nothing. 0, or an error that run->fail tells. */
int asked_explain(struct run *run);

/* --bench: every algorithm, or the one that was asked for. Every rank calls it. 0, or an error that
 * run->fail tells. */
int asked_bench(struct run *run, struct comm *comm);

#endif
