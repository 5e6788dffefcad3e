/*
 * against_ring: lesson 3's proof. Do buckets and overlap change nothing but the time?
 *
 *     overlapped buckets   =   lesson 2's all-reduce of each bucket, after backward    bit for bit
 *                          ~   lesson 2's all-reduce of the whole gradient at once     (see below)
 *                          =   what every other rank holds                             bit for bit
 *
 * A bucket's chunks are not the whole gradient's chunks: an element may be owned by another rank,
 * and its ring may start elsewhere. The other algorithms add every element in one order, so by them
 * the second line is bit for bit too; unless auto takes one for a bucket that adds in another order
 * than the one for the whole. And
 * two ranks' numbers have one sum, a + b = b + a. Where orders differ, of W ranks, each is within
 * gamma(W - 1) sum |g_r| of the true sum (Higham, 2nd ed., section 4.2; gamma as in bound.h), two
 * of them within twice that: 2 gamma(2 W) with the sum of the |g_r| itself added up in float. Compressed buckets have lines of their own instead: against_float.h.
 */
#ifndef LESSON03_AGAINST_RING_H
#define LESSON03_AGAINST_RING_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"
#include "lesson03_ddp/against_float.h"
#include "lesson03_ddp/ddp.h"
#include "lesson03_ddp/rerun.h"

struct against_ring {
    struct rerun rerun;
    bool exact; // so far buckets and whole were added in one order, to the same bits
    struct against_float compressed; // takes rerun's place with --compress
};

/* Takes no memory when nothing is to be verified. 0, or an error that run->fail tells. */
int against_ring_init(struct against_ring *against, struct run *run, const struct ddp *ddp);
void against_ring_release(struct against_ring *against); // accepts a zeroed struct

/* After ddp_wait, before the update. Says too how many buckets had left before backward ended:
 * an order of events, not a time. 0; the communicator's error; or, on every rank alike, an error
 * when a comparison failed on any. */
int against_ring_gradient(struct against_ring *against, struct run *run, const struct ddp *ddp,
                          const struct step *step);

/* After the update: do all ranks hold the same parameters? The same errors. */
int against_ring_parameters(struct against_ring *against, struct run *run, struct comm *comm,
                            const struct step *step);

#endif
