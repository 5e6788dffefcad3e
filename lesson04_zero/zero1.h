/*
 * zero1: every rank keeps the optimizer's state for its shard only. ZeRO, stage 1.
 *
 * An all-reduce is a reduce-scatter and an all-gather. Between the two each rank holds the finished
 * sum of one chunk, and nothing more is needed to update that chunk's parameters. So the optimizer
 * moves in between: it updates what this rank owns, and the all-gather carries parameters instead
 * of gradients.
 *
 *     bucket     | chunk 0 | chunk 1 | chunk 2 |
 *     rank 1       partial    sum      partial      reduce-scatter, while backward computes
 *                             update                state for chunk 1 of each bucket: 1/3 of all
 *                  from 0  <- new  ->  from 2       all-gather of parameters
 *
 * Rank r owns chunk r (slice_of) of each bucket; a count that does not divide is the normal case.
 * The same bytes travel as in lesson 3. Rajbhandari et al., "ZeRO", SC 2020, section 5.1.
 */
#ifndef LESSON04_ZERO1_H
#define LESSON04_ZERO1_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/ddp.h"

struct zero1 {
    struct ddp ddp; // buckets leave as they fill; to their owners, not to all
    struct slice owned[MODEL_TENSORS_MOST]; // chunk `rank` of every bucket, ascending in the slab
    size_t owned_count;
    float *grad;                       // the slab: of a bucket only the owned chunk holds a sum
    double gather_seconds;             // of the last step: what its all-gathers took
    const struct optimizer *optimizer; // the run's: it owns what this rank owns
};

/* Plans buckets and shards, starts the communication thread, and lets the run gather its states for
 * a checkpoint. 0, or an error that run->fail tells. */
int zero1_init(struct zero1 *zero, struct run *run, struct comm *comm);
void zero1_stop(struct zero1 *zero); // ends the thread; accepts a zeroed struct

/* The norm of the whole reduced gradient, of which each rank holds a part: the same bits as norm_of
 * on the whole. NaN when nobody asks for it (run_wants_norm). 0 or an error. */
int zero1_norm(const struct zero1 *zero, struct run *run, double *norm);

/* slab (model.count), parameters for instance: each rank's owned part to all. 0 or the
 * communicator's error. */
int zero1_gather(const struct zero1 *zero, float *slab);

/* After the update: the same for the run's parameters, in a time that the run is told of. */
int zero1_share_parameters(struct zero1 *zero, struct run *run);

/* Tells the run what was sent so far, and how long this step's communication took. */
void zero1_account(const struct zero1 *zero, struct run *run);

/* For checkpoints: state `index` of the whole slab, gathered into the slab of gradients. `context`
 * is a struct zero1; see run.h, gather_state. */
int zero1_gather_state(void *context, size_t index, const float **whole, struct fail *fail);

#endif
