/*
 * tree: all to rank 0 along a binomial tree, and back along the same one.
 *
 *     round 0     1 -> 0    3 -> 2    5 -> 4        half of the ranks send and are done
 *     round 1     2 -> 0              5 sends none
 *     round 2     4 -> 0                            then the same arrows backwards
 *
 * 2 ceil(log2 R) rounds, each with the whole vector: good for short ones. Added in pairs:
 * ((g0 + g1) + (g2 + g3)) + (g4 + g5).
 */
#ifndef LESSON02_TREE_H
#define LESSON02_TREE_H

#include "lesson02_allreduce/comm.h"

/* See ring_allreduce. */
int tree_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction);

#endif
