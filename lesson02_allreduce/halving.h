/*
 * halving: recursive halving and doubling.
 *
 * Rabenseifner's algorithm (Thakur, Rabenseifner and Gropp, "Optimization of collective
 * communication operations in MPICH", 2005). Partners at distance 1, 2, 4, ... swap halves of what
 * they still hold, and add; then the same swaps backwards, with finished parts:
 *
 *     4 ranks       rank 0      rank 1      rank 2      rank 3
 *     distance 1    AB: 0+1     CD: 0+1     AB: 2+3     CD: 2+3      a vector of quarters A B C D
 *     distance 2    A: all      C: all      B: all      D: all       = (0+1) + (2+3)
 *     distance 2    AB          CD          AB          CD
 *     distance 1    ABCD        ABCD        ABCD        ABCD
 *
 * 2 log2 P steps and as few bytes as the ring, when the world is P, a power of two. If not, P is the
 * largest below; the first world - P odd ranks hand their vector to the rank before them, stand
 * aside, and are given the result.
 */
#ifndef LESSON02_HALVING_H
#define LESSON02_HALVING_H

#include "lesson02_allreduce/comm.h"

/* See ring_allreduce. */
int halving_allreduce(struct comm *comm, const void *in, void *out, size_t count,
                      enum comm_type type, enum comm_reduction reduction);

/* The largest power of two that is no larger than the world. */
int halving_power(int world);

#endif
