/*
 * zero2: a gradient lives only until its owner has the sum. ZeRO, stage 2.
 *
 * A bucket's gradient is not kept in a slab but in a buffer of a pool. Backward takes one when it first
 * adds to a bucket; when the bucket is full the worker reduce-scatters it, keeps this rank's chunk of the
 * sum, and the buffer is free for another bucket, but for the next two:
 *
 *     backward   | fc4 fills a | fc3 fills b | fc2 fills c | fc1 fills a |
 *     worker                   [ scatter a ]  [ scatter b ]  [ scatter c ]  [ scatter a ]
 *     kept         own chunk of fc4, then of fc3, of fc2, of fc1: 1/R of the gradient
 *
 * With --accumulate K the sum over K micro-batches is to be reduced, once. So all buckets are filled K
 * times before the first one leaves, and each has a buffer of its own: as much memory as the whole
 * gradient. To reduce after each micro-batch would need no more memory than K = 1, but send K times as
 * much, and add in another order.
 *
 * Rajbhandari et al., "ZeRO", SC 2020, section 5.2.
 */
#ifndef LESSON04_ZERO2_H
#define LESSON04_ZERO2_H

#include "lesson04_zero/pool.h"
#include "lesson04_zero/script.h"
#include "lesson04_zero/shard.h"

struct zero2 {
    const struct shard *shard;
    struct ddp *ddp;
    struct places *places; // of gradients; kept up to date
    struct pool pool;
    struct pool_buffer *filling[MODEL_TENSORS_MOST]; // of each bucket; NULL: not begun, or sent
    float *sending[MODEL_TENSORS_MOST];              // the worker's
    float *grad; // packed (shard.count): the owned sums; the run's grad
    struct run *run;
};

/* The buffers: of buckets that are filled at the same time, and of any that are sent within two of each other,
 * different ones, so that one is filled while the one before is under way. */
void zero2_plan(struct pool_plan *plan, const struct script *script,
                const struct bucket_plan *buckets, bool keeps_all);

/* Are all buckets filled before one is sent? */
bool zero2_keeps_all(const struct options *options);

/* ddp's plan is made, its worker not yet at work. 0 or -ENOMEM. Release accepts a zeroed or half-built
 * struct. */
int zero2_init(struct zero2 *zero2, struct run *run, struct ddp *ddp, const struct shard *shard,
               const struct script *script, struct places *places);
void zero2_release(struct zero2 *zero2);

void zero2_add(struct zero2 *zero2, size_t tensor);    // its gradient is about to be added to
void zero2_submit(struct zero2 *zero2, size_t bucket); // it is full
int zero2_reduce(struct zero2 *zero2, size_t bucket);  // in the worker's thread
void zero2_end(struct zero2 *zero2);                   // all were sent, and reduced

#endif
