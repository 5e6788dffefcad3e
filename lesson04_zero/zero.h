/*
 * zero: every rank keeps its share of what a step needs, and no more of it than the stage says.
 *
 *     stage     optimizer state     gradients      parameters
 *       1           1/R               all             all
 *       2           1/R               1/R             all         zero2.h
 *       3           1/R               1/R             1/R         zero3.h
 *
 * An all-reduce is a reduce-scatter and an all-gather. Between the two each rank holds the finished
 * sum of one chunk, and nothing more is needed to update that chunk's parameters. So the optimizer
 * moves in between: it updates what this rank owns (shard.h), and the all-gather carries parameters
 * instead of gradients. From this all stages follow.
 *
 *     bucket     | chunk 0 | chunk 1 | chunk 2 |
 *     rank 1       partial    sum      partial      reduce-scatter, while backward computes
 *                             update                state for chunk 1 of each bucket: 1/3 of all
 *                  from 0  <- new  ->  from 2       all-gather of parameters: now, or as layers need them
 *
 * All stages compute the same bits. Rajbhandari et al., "ZeRO", SC 2020, section 5.
 */
#ifndef LESSON04_ZERO_H
#define LESSON04_ZERO_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/ddp.h"
#include "lesson04_zero/offload.h"
#include "lesson04_zero/zero2.h"
#include "lesson04_zero/zero3.h"

struct zero {
    int stage;
    struct ddp ddp; // buckets leave as they fill; to their owners, not to all
    struct shard shard;
    struct script script; // stages 2 and 3
    struct places places; // likewise
    struct zero2 zero2;
    struct zero3 zero3;
    struct offload offload;
    double gather_seconds; // of the last step: what its all-gathers after the update took
    float *whole;          // (model.count): for dumps, where no parameters are whole
    struct run *run;
};

/* Plans buckets and shards, takes the memory of the stage, starts the communication thread. Before
 * run_start, which is told zero->shard. 0, or an error that run->fail tells. */
int zero_init(struct zero *zero, struct run *run, struct comm *comm);
void zero_stop(struct zero *zero); // ends the thread, returns the memory; accepts a zeroed struct

/* Ranks begin alike: stages 1 and 2 as lesson 3 does (replicas.h); in stage 3 there are no replicas. 0, or an
 * error that run->fail tells, or the communicator's. */
int zero_start(struct zero *zero);

/* A step's gradient is computed between the two; then run->grad holds the owned sums. 0, or an error as
 * ddp_wait's. */
void zero_begin(struct zero *zero);
int zero_wait(struct zero *zero);

/* The norm of the whole reduced gradient, of which each rank holds a part: the same bits as norm_of
 * on the whole. NaN when nobody asks for it (run_wants_norm). 0 or an error. */
int zero_norm(const struct zero *zero, double *norm);

/* After the update: parameters to all ranks, as far as they are kept whole. In a time that the run is told
 * of. 0 or the communicator's error. */
int zero_share(struct zero *zero);

/* Tells the run what was sent so far, and how long this step's communication took. */
void zero_account(const struct zero *zero);

/* slab (model.count) = the whole of a state of the run's optimizer, wherever it is kept. 0, or an error that
 * `fail` tells. */
int zero_gather_state(const struct zero *zero, size_t index, float *slab, struct fail *fail);

/* slab (model.count) = all parameters, of any stage. 0 or the communicator's error. */
int zero_gather_param(const struct zero *zero, float *slab);

#endif
