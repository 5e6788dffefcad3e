/*
 * sampler: which samples an update is made of, the same for every rank and any world.
 *
 * An epoch is a permutation keyed by (seed, epoch). It is cut into windows of batch * accumulate
 * samples, one window per update; the last may be shorter, and is dropped only on request. A
 * window is cut into micro-batches of `batch` samples; a rank takes its slice of each:
 *
 *     epoch     | 7 2 9 4 0 1 | 8 3 5 6 . . |      batch 3, accumulate 2: two updates
 *     update 0    micro-batch 0: 7 2 9, micro-batch 1: 4 0 1
 *     2 ranks     rank 0: 7 2, 4 0              rank 1: 9, 1
 *
 * So every rank makes the same number of steps, no sample is seen twice, and none is lost.
 */
#ifndef COMMON_SAMPLER_H
#define COMMON_SAMPLER_H

#include "common/fail.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step {
    size_t index;         // update, counted from 0 over the whole run
    size_t epoch;         // from 0
    struct slice samples; // positions in the epoch's order
    bool last_of_epoch;
};

struct sampler {
    size_t count; // samples of the training set
    size_t batch, accumulate;
    uint64_t seed;
    uint64_t order_seed; // what the order is really drawn from: seed, unless a mistake is planted
    bool same_order;     // a mistake: every epoch's is that of epoch 0 (--inject no-set-epoch)
    bool same_share;     // a mistake: every rank's is that of rank 0 (--inject same-shard)
    bool shuffle, drop_last;
    size_t steps_per_epoch;
    uint32_t *order; // (count): the permutation of order_epoch
    size_t order_epoch;
    struct memory *memory;
};

/* 0; -EINVAL when no update would be made of `count` samples; -ENOMEM. */
int sampler_init(struct sampler *sampler, size_t count, const struct options *options,
                 struct memory *memory, struct fail *fail);

void sampler_release(struct sampler *sampler);

/* Update `index` of the run. */
struct step sampler_step(const struct sampler *sampler, size_t index);

/* Micro-batches of a step, at least 1, and the positions of micro-batch m that rank trains on
 * (maybe none). */
size_t sampler_micro_batches(const struct sampler *sampler, const struct step *step);
struct slice sampler_share(const struct sampler *sampler, const struct step *step, size_t m,
                           size_t world, size_t rank);

/* The data set index at each position of an epoch: (count). Valid until asked for another epoch. */
const uint32_t *sampler_order(struct sampler *sampler, size_t epoch);

#endif
