/*
 * against_ddp: lesson 4's proof. Does sharding change nothing but who keeps what?
 *
 * For the steps to verify, every rank trains lesson 3's replica beside its own: a second slab of
 * parameters, the whole optimizer state, overlapped buckets summed on every rank.
 *
 *     owned gradient chunks    =   those chunks of lesson 3's gradient         bit for bit
 *     gradient's norm          =   lesson 3's norm, where one is asked for     bit for bit
 *     owned optimizer state    =   those chunks of lesson 3's state            bit for bit
 *     parameters               =   lesson 3's parameters                       bit for bit
 *     in stage 3, owned ones   =   those slices of lesson 3's                  bit for bit
 *     owned gradient chunks    ~   lesson 1's gradient of the whole batch      within the bound
 *     with --compress instead:     lesson 3's gradient holds the lines of against_float.h
 *
 * Exact, because rank r ends lesson 2's reduce-scatter with the very bits its all-gather would have
 * sent round, and every element is updated by itself. The replica's ring is the same ring: what both
 * would get wrong alike, lesson 1 shows.
 */
#ifndef LESSON04_AGAINST_DDP_H
#define LESSON04_AGAINST_DDP_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/against_single.h"
#include "lesson03_ddp/against_float.h"
#include "lesson03_ddp/ddp.h"
#include "lesson04_zero/zero.h"

struct against_ddp {
    struct ddp ddp;
    struct against_single single; // lesson 1, for what both of them might get wrong alike
    struct against_float compressed;
    struct trainer trainer; // on the replica's slabs
    float *param, *grad;    // (count)
    float *before;          // (count): param, before the update
    float *owned;           // (owned_count): this rank's part of a state, wherever it is kept
    size_t owned_count;
    struct optimizer optimizer;
    struct memory *memory; // the run's for verification: a replica is no part of what a rank needs
    size_t count;
};

/* Takes no memory when nothing is to be verified. After run_start and zero_start: a resumed state
 * is gathered. 0, or an error that run->fail tells. */
int against_ddp_init(struct against_ddp *against, struct run *run, const struct zero *zero);
void against_ddp_release(struct against_ddp *against); // accepts a zeroed struct

/* After the reduce-scatter, before the update. 0; the communicator's error; or, on every rank
 * alike, an error when a comparison failed on any. */
int against_ddp_gradient(struct against_ddp *against, struct run *run, const struct zero *zero,
                         const struct step *step);

/* After the all-gather: makes lesson 3's update, and compares. The same errors. */
int against_ddp_update(struct against_ddp *against, struct run *run, const struct zero *zero,
                       const struct step *step);

#endif
