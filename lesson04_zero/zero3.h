/*
 * zero3: parameters live only as slices. ZeRO, stage 3.
 *
 * Before a layer computes, the buckets that hold its parameters are gathered into buffers of a pool, from
 * all owners; and while it computes, those of the layer that comes next. What the next layer does not need
 * is dropped:
 *
 *     compute    | forward fc1 | forward fc2 | forward fc3 | backward fc3 | backward fc2 | ...
 *     worker     [ gather fc2 ][ gather fc3 ]                [ gather fc2 ] [ scatter fc3 ] [ gather fc1 ]
 *     here         fc1 fc2       fc2 fc3       fc3            fc3 fc2        fc2 fc1
 *
 * So parameters travel twice, where stage 2 gathers them once, after the update: half as much again as
 * lesson 3's all-reduce. A bucket of at most --persist-kb stays whole on every rank and is gathered after
 * the update, as in stage 2: it costs little memory, and a message each time. So does a frozen tensor, which
 * no update ever changes.
 *
 * Every rank asks for the same layers in the same order, since they walk the same model; also in an
 * evaluation of fewer samples (trainer_evaluate_in). Rajbhandari et al., "ZeRO", SC 2020, section 5.3.
 */
#ifndef LESSON04_ZERO3_H
#define LESSON04_ZERO3_H

#include "lesson04_zero/pool.h"
#include "lesson04_zero/script.h"
#include "lesson04_zero/shard.h"

struct zero3 {
    const struct shard *shard;
    struct run *run;
    struct ddp *ddp;
    struct places *places; // of parameters; kept up to date
    const struct script *script;
    struct pool pool;
    script_buckets sharded;                          // those that do not stay
    script_buckets here;                             // gathered, or under way
    struct pool_buffer *buffers[MODEL_TENSORS_MOST]; // of each bucket that is here
    float *gathering[MODEL_TENSORS_MOST];            // the worker's
    float *param;  // packed (shard.count): the owned values; the run's param
    float *stays;  // (stay_count): whole copies of the small buckets, then frozen tensors
    float *frozen; // (frozen_count): as they are, where those above are rounded (precision.h)
    size_t stay_count, frozen_count;
    bool training;         // follow the script; else it is an evaluation: forward only
    size_t use;            // where in the script
    double waited_seconds; // of this step: for parameters
};

/* Which buckets are sharded, where those of at most persist_bytes stay. */
script_buckets zero3_sharded(const struct bucket_plan *plan, size_t persist_bytes);

/* The buffers: of buckets that are here at the same time different ones. */
void zero3_plan(struct pool_plan *plan, const struct script *script, const struct model *model,
                const struct bucket_plan *buckets, script_buckets sharded);

/* Takes its memory, and fills what is owned and what stays as --init says. 0, or an error that run->fail
 * tells. Release accepts a zeroed or half-built struct. */
int zero3_init(struct zero3 *zero3, struct run *run, struct ddp *ddp, const struct shard *shard,
               const struct script *script, struct places *places);
void zero3_release(struct zero3 *zero3);

void zero3_begin(struct zero3 *zero3);               // a step
void zero3_layer(struct zero3 *zero3, size_t layer); // its parameters are about to be used

/* In the worker's thread: a bucket's parameters from all owners, rounded as --precision says, into its buffer. 0 or
 * the communicator's error. */
int zero3_gather(struct zero3 *zero3, size_t bucket);

void zero3_end(struct zero3 *zero3); // backward is over, the worker idle: nothing is here any more

/* Before the first step, a resumed state in place; and after each update: what stays is brought up to
 * date. 0 or the communicator's error. */
int zero3_start(struct zero3 *zero3);
int zero3_refresh(struct zero3 *zero3);

#endif
