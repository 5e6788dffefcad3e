/*
 * replay: the ring's sum without a ring, the oracle its bits are held against.
 *
 * Given every rank's vector in one place, adds them in exactly the order ring_reduce_scatter does
 * (see ring.h), chunk by chunk. No socket, no loop, nothing shared with the ring but slice_of().
 */
#ifndef LESSON02_REPLAY_H
#define LESSON02_REPLAY_H

#include <stddef.h>

/* out (count) = the ring's sum of shares[0 .. world-1], each (count). out is none of them. */
void replay_ring_allreduce(const float *const *shares, size_t world, size_t count, float *out);

#endif
