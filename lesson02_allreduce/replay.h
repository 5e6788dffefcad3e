/*
 * replay: the oracles. What each algorithm makes of all ranks' vectors, computed by one rank alone,
 * without a socket: every element by the same operations in the same order, hence the same bits.
 */
#ifndef LESSON02_REPLAY_H
#define LESSON02_REPLAY_H

#include "lesson02_allreduce/comm.h"

struct replay {
    const void *const *shares; // (world): each rank's vector (count)
    size_t world, count;
    enum comm_type type;
    enum comm_reduction reduction;
};

/* out (count), which overlaps no share. `algorithm` is not AUTO. */
void replay_allreduce(const struct replay *replay, enum algorithm algorithm, void *out);

#endif
