/*
 * bench: what an all-reduce costs on this machine, by size.
 */
#ifndef LESSON02_BENCH_H
#define LESSON02_BENCH_H

#include "common/fail.h"
#include "lesson02_allreduce/comm.h"

#include <stdio.h>

/* Every rank calls it; rank 0 prints. For each size, calls begin together (a barrier before each),
 * and the slowest rank's time counts. Algorithm bandwidth is bytes / time; bus bandwidth is that
 * times 2 (R - 1) / R, what each link carries. 0, or an error that fail tells. */
int bench_allreduce(struct comm *comm, FILE *out, struct fail *fail);

#endif
