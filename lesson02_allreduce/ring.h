/*
 * ring: the collectives, as rounds of "send to the right, hear from the left".
 *
 * Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * JPDC 69 (2009). Over R ranks a vector of n elements is cut into R chunks (slice_of); each rank
 * sends about 2 n (R - 1) / R elements, however many ranks there are.
 *
 * Reduce-scatter ends with rank r owning chunk r, the sum over all ranks, added in ring order:
 *
 *     chunk c = (((g[c+1] + g[c+2]) + ...) + g[c-1]) + g[c]      (ranks mod R)
 *
 * All functions: every rank calls with the same count and type, in the same order. Return 0, or the
 * communicator's first error. Count 0 returns 0 and sends nothing.
 */
#ifndef LESSON02_RING_H
#define LESSON02_RING_H

#include "lesson02_allreduce/comm.h"

/* out (count) = the reduction over ranks of in (count), the same bits on every rank. in == out is in
 * place; otherwise `in` is left as it was, and arrays that overlap in part are refused (-EINVAL). */
int ring_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction);

/* In place: data (count). Afterwards chunk `rank` is reduced; the other chunks hold partial results
 * and must not be used. */
int ring_reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                        enum comm_reduction reduction);

/* In place: data (count), chunk `rank` filled in by each rank; afterwards whole on every rank. */
int ring_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type);

/* Rank `root`'s data (count) on every rank, along the ring. */
int ring_broadcast(struct comm *comm, void *data, size_t count, enum comm_type type, int root);

#endif
