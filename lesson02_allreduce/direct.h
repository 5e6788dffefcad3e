/*
 * direct: every part straight to the rank that adds it up.
 *
 *     reduce-scatter   rank q gets chunk q of all others, and folds them in rank order
 *     all-gather       rank q sends its finished chunk to all others
 *
 * Two steps however many ranks there are, and as few bytes as the ring; the price is R - 1 links per
 * rank. A short vector takes one step: everybody sends all of it to everybody and folds it alone.
 *
 * Whatever the step, chunk or bucket, an element is folded in rank order, ((g0 + g1) + g2) + ..., so
 * its bits do not depend on how a vector was cut.
 */
#ifndef LESSON02_DIRECT_H
#define LESSON02_DIRECT_H

#include "lesson02_allreduce/comm.h"

/* See ring_allreduce, ring_reduce_scatter and ring_all_gather. */
int direct_allreduce(struct comm *comm, const void *in, void *out, size_t count,
                     enum comm_type type, enum comm_reduction reduction);
int direct_reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                          enum comm_reduction reduction);
int direct_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type);

#endif
