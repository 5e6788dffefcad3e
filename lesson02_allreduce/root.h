/*
 * root: all to one, and back: the shape of a parameter server.
 *
 *     1 --\               /--> 1
 *     2 ---> 0, which adds --> 2         root's link carries (R - 1) n in and (R - 1) n out
 *     3 --/               \--> 3
 *
 * Two steps however many ranks there are, but all of them wait for one link. Added in rank order:
 * ((g0 + g1) + g2) + ...
 */
#ifndef LESSON02_ROOT_H
#define LESSON02_ROOT_H

#include "lesson02_allreduce/comm.h"

/* See ring_allreduce. */
int root_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction);

#endif
