/*
 * sampler: which samples an update is made of. See the header.
 *
 * All is arithmetic on (update, micro-batch, world, rank); only an epoch's order is kept, in one
 * array made at the start and filled anew when another epoch is asked for.
 */
#include "common/sampler.h"
#include "common/rng.h"
#include "common/zoo.h"

#include <assert.h>
#include <errno.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Samples of a full window, or the largest number there is. */
static size_t window_of(const struct sampler *sampler)
{
    size_t window;
    if (__builtin_mul_overflow(sampler->batch, sampler->accumulate, &window))
        return SIZE_MAX;
    return window;
}

static int check(const struct sampler *sampler, const struct options *options, struct fail *fail)
{
    if (sampler->count == 0)
        return fail_set(fail, -EINVAL, "no update can be made: the training set has 0 samples");
    if (sampler->count > UINT32_MAX)
        return fail_set(fail, -EINVAL, "%zu training samples: at most %u are accepted",
                        sampler->count, UINT32_MAX);
    if (sampler->batch == 0 || sampler->accumulate == 0)
        return fail_set(fail, -EINVAL,
                        "no update can be made: --batch is %zu and --accumulate %zu, expected at "
                        "least 1",
                        sampler->batch, sampler->accumulate);
    if (sampler->drop_last && window_of(sampler) > sampler->count)
        return fail_set(fail, -EINVAL,
                        "no update would be made: --drop-last leaves only full windows of --batch "
                        "%zu x --accumulate %zu samples, but there are %zu samples to train on",
                        sampler->batch, sampler->accumulate, sampler->count);
    if (options->steps == 0 && options->epochs == 0)
        return fail_set(fail, -EINVAL,
                        "no update would be made: expected --epochs or --steps of "
                        "at least 1, found 0");
    return 0;
}

int sampler_init(struct sampler *sampler, size_t count, const struct options *options,
                 struct memory *memory, struct fail *fail)
{
    *sampler = (struct sampler){
        .count = count,
        .batch = options->batch,
        .accumulate = options->accumulate,
        .seed = options->seed,
        .order_seed = options->seed,
        .same_order = zoo_has(options, ZOO_NO_SET_EPOCH),
        .same_share = zoo_has(options, ZOO_SAME_SHARD),
        .shuffle = options->shuffle,
        .drop_last = options->drop_last,
        .order_epoch = SIZE_MAX, // none yet
        .memory = memory,
    };
    int code = check(sampler, options, fail);
    if (code < 0)
        return code;
    size_t window = window_of(sampler);
    bool short_last = count % window > 0 && !sampler->drop_last;
    sampler->steps_per_epoch = count / window + short_last;
    sampler->order = memory_take(memory, MEMORY_BUFFERS, count * sizeof *sampler->order);
    if (!sampler->order)
        return fail_set(fail, -ENOMEM, "no memory for the order of %zu samples", count);
    return 0;
}

void sampler_release(struct sampler *sampler)
{
    memory_give_back(sampler->memory, MEMORY_BUFFERS, sampler->order,
                     sampler->count * sizeof *sampler->order);
    *sampler = (struct sampler){0};
}

struct step sampler_step(const struct sampler *sampler, size_t index)
{
    // task 01.5 {
    size_t window = window_of(sampler);
    size_t in_epoch = index % sampler->steps_per_epoch;
    size_t begin = in_epoch * window;
    return (struct step){
        .index = index,
        .epoch = index / sampler->steps_per_epoch,
        .samples = {.begin = begin, .count = smaller(window, sampler->count - begin)},
        .last_of_epoch = in_epoch + 1 == sampler->steps_per_epoch,
    };
    // } 01.5
}

size_t sampler_micro_batches(const struct sampler *sampler, const struct step *step)
{
    // task 01.5 {
    return (step->samples.count - 1) / sampler->batch + 1;
    // } 01.5
}

struct slice sampler_share(const struct sampler *sampler, const struct step *step, size_t m,
                           size_t world, size_t rank)
{
    // task 01.5 {
    assert(m < sampler_micro_batches(sampler, step));
    size_t begin = m * sampler->batch;
    size_t count = smaller(sampler->batch, step->samples.count - begin);
    struct slice share = slice_of(count, world, sampler->same_share ? 0 : rank);
    share.begin += step->samples.begin + begin;
    return share;
    // } 01.5
}

const uint32_t *sampler_order(struct sampler *sampler, size_t epoch)
{
    // task 01.5 {
    if (sampler->order_epoch == epoch)
        return sampler->order;
    uint32_t drawn = sampler->same_order ? 0 : (uint32_t)epoch;
    struct rng rng = {.seed = sampler->order_seed, .stream = RNG_SHUFFLE, .sub = drawn};
    if (sampler->shuffle)
        rng_permutation(&rng, sampler->order, sampler->count);
    else
        for (size_t i = 0; i < sampler->count; i++)
            sampler->order[i] = (uint32_t)i;
    sampler->order_epoch = epoch;
    return sampler->order;
    // } 01.5
}
