/* traffic_plan: what each part of an update sends. See the header. */
#include "lesson04_zero/traffic_plan.h"
#include "lesson02_allreduce/steps.h"
#include "lesson04_zero/explain_stage.h"
#include "lesson04_zero/zero3.h"

#include <stdint.h>

/* One bucket, as one rank sees it. */
struct sending {
    size_t count, world, rank;
    enum algorithm algorithm;
};

static size_t chunk(const struct sending *of, size_t rank)
{
    return slice_of(of->count, of->world, rank % of->world).count;
}

/* Whatever goes home goes without this rank's own chunk, round a ring or straight. */
static size_t scattered(const struct sending *of)
{
    return of->count - chunk(of, of->rank);
}

/* Straight to the n - 1 others. */
static size_t spread(const struct sending *of)
{
    return (of->world - 1) * chunk(of, of->rank);
}

static size_t gathered(const struct sending *of)
{
    return of->algorithm == ALGORITHM_DIRECT ? spread(of) : of->count - chunk(of, of->rank + 1);
}

/* Both halves; the other algorithms have none, and their steps are counted. */
static size_t reduced(const struct sending *of)
{
    if (of->algorithm == ALGORITHM_RING)
        return scattered(of) + gathered(of);
    return steps_sent(of->algorithm, (int)of->world, of->count, (int)of->rank);
}

/* DDP: the all-reduce; ZeRO: its first half. As bf16 in half the bytes, always straight. */
static size_t gradient_bytes(const struct memory_case *of, const struct sending *bucket)
{
    bool halves = of->stage >= 1, packs = of->options->compress == COMPRESS_BF16;
    if (packs)
        return sizeof(uint16_t) * (scattered(bucket) + (halves ? 0 : spread(bucket)));
    return sizeof(float) * (halves ? scattered(bucket) : reduced(bucket));
}

/* How often each bucket is gathered in an update, always as floats: ZeRO 1 and 2 once, after it; ZeRO 3
 * as its layers ask. */
static void count_gathers(const struct memory_case *of, size_t gathers[MODEL_TENSORS_MOST])
{
    struct explain_stage stage = {
        .stage = of->stage,
        .model = of->model,
        .plan = &of->buckets,
        .script = &of->script,
        .sharded = of->stage < 3 ? 0 : zero3_sharded(&of->buckets, of->options->persist_bytes),
        .world = (size_t)of->world,
        .accumulate = of->accumulate,
    };
    explain_stage_gathers(&stage, gathers);
    for (size_t i = 0; i < of->buckets.count && of->stage < 1; i++)
        gathers[i] = 0;
}

/* A double each, to the n - 1 others: the loss, perhaps with whether gradients are finite; where the
 * gradient is in parts, its largest element and the two sums of its norm. */
static size_t number_bytes(const struct memory_case *of)
{
    size_t numbers = of->shares_finite ? RUN_LOSS_NUMBERS : 1;
    numbers += of->stage >= 1 && of->wants_norm ? 3 : 0;
    return sizeof(double) * numbers * ((size_t)of->world - 1);
}

struct traffic_plan traffic_plan_of(const struct memory_case *of, const struct choice *choice,
                                    size_t rank)
{
    struct traffic_plan plan = {0};
    size_t gathers[MODEL_TENSORS_MOST];
    if (of->stage == STAGE_ALONE || of->world == 1)
        return plan;
    count_gathers(of, gathers);
    for (size_t i = 0; i < of->buckets.count; i++) {
        size_t count = of->buckets.buckets[i].slice.count;
        struct sending bucket = {.count = count,
                                 .world = (size_t)of->world,
                                 .rank = rank,
                                 .algorithm = choice_for(choice, count * sizeof(float))};
        plan.gradient_bytes += gradient_bytes(of, &bucket);
        plan.parameter_bytes += sizeof(float) * gathers[i] * gathered(&bucket);
    }
    plan.number_bytes = number_bytes(of);
    plan.total_bytes = plan.gradient_bytes + plan.parameter_bytes + plan.number_bytes;
    return plan;
}
