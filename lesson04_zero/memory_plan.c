/* memory_plan: one small function for each use of memory, each a formula. See the header. */
#include "lesson04_zero/memory_plan.h"
#include "lesson01_single/activations.h"
#include "lesson02_allreduce/comm.h"
#include "lesson03_ddp/compress.h"
#include "lesson03_ddp/ddp.h"
#include "lesson04_zero/offload.h"
#include "lesson04_zero/zero2.h"
#include "lesson04_zero/zero3.h"

enum { FLOAT_BYTES = sizeof(float) };

static bool rounds(const struct memory_case *of)
{
    return of->options->precision != PRECISION_FP32;
}

struct memory_case memory_case_of(const struct run *run)
{
    const struct options *options = &run->options;
    struct memory_case of = {
        .model = &run->model,
        .options = options,
        .stage = options->lesson == 1   ? STAGE_ALONE
                 : options->lesson == 4 ? options->stage
                                        : STAGE_DDP,
        .world = run->environment.world,
        .offloads = options->offload != NULL,
        .batch = run->sampler.batch,
        .accumulate = options->accumulate,
        .recompute = options->recompute,
        .train = run->train.count,
        .test = run->test.count,
        .targets = run->train.task == TASK_CLASSIFY ? 1 : run->train.outputs,
        .wants_norm = run_wants_norm(run),
        .shares_finite = run_finite_shares(run),
    };
    struct bucket_order order = bucket_order_reverse(of.model);
    bucket_plan_make(&of.buckets, of.model, &order, options->first_bucket_bytes,
                     options->bucket_bytes);
    script_rehearse(&of.script, of.model, of.recompute, &of.buckets);
    return of;
}

/* T: what is in buckets. Frozen tensors are in none. */
static size_t trained(const struct memory_case *of)
{
    size_t count = 0;
    for (size_t i = 0; i < of->buckets.count; i++)
        count += of->buckets.buckets[i].slice.count;
    return count;
}

/* Chunk `rank` of every bucket; below stage 1 all of it. */
size_t memory_owned(const struct memory_case *of, size_t rank)
{
    size_t count = 0;
    if (of->stage < 1)
        return trained(of);
    for (size_t i = 0; i < of->buckets.count; i++)
        count += slice_of(of->buckets.buckets[i].slice.count, (size_t)of->world, rank).count;
    return count;
}

/* P - T. */
static size_t frozen(const struct memory_case *of)
{
    return of->model->count - trained(of);
}

/* Small buckets, which stage 3 does not shard. */
static size_t persistent(const struct memory_case *of)
{
    script_buckets sharded = zero3_sharded(&of->buckets, of->options->persist_bytes);
    size_t count = 0;
    for (size_t i = 0; i < of->buckets.count; i++)
        count += sharded >> i & 1 ? 0 : of->buckets.buckets[i].slice.count;
    return count;
}

/* 4 P; with --precision twice that, for a rounded copy. Stage 3: 4 (own + small buckets + frozen); what is
 * gathered is rounded where it lies, so only what never moves again, the frozen, is there twice. Offloaded,
 * own is in the file as well. */
static size_t parameters(const struct memory_case *of, size_t rank)
{
    size_t own = of->offloads ? 0 : memory_owned(of, rank);
    if (of->stage < 3)
        return FLOAT_BYTES * of->model->count * (rounds(of) ? 2 : 1);
    return FLOAT_BYTES * (own + persistent(of) + frozen(of) * (rounds(of) ? 2 : 1));
}

/* 4 P, whatever is frozen; from stage 2 on 4 own. */
static size_t gradients(const struct memory_case *of, size_t rank)
{
    return FLOAT_BYTES * (of->stage < 2 ? of->model->count : memory_owned(of, rank));
}

/* 4 s own; offloaded, three tiles of each array in the file (offload.h). s: momentum is one array, Adam's moments are two, plain SGD has none. */
static size_t optimizer(const struct memory_case *of, size_t rank)
{
    struct options options = *of->options;
    options.stage = of->stage;
    if (of->offloads)
        return offload_bytes(&options, memory_owned(of, rank));
    return FLOAT_BYTES * optimizer_states(of->options) * memory_owned(of, rank);
}

/* The longest share of a micro-batch, which the first rank has; never more than there is to train on. */
static size_t rows(const struct memory_case *of)
{
    size_t most = of->batch < of->train ? of->batch : of->train;
    return slice_of(most, (size_t)of->world, 0).count;
}

/* 4 rows x (the widths of what is kept + 2 x the widest hidden layer, the gradient on its way down). */
static size_t activations(const struct memory_case *of)
{
    return FLOAT_BYTES * rows(of) * activations_width(of->model, of->recompute);
}

/* 4 (train + test) x (width + targets), and 4 train for the order of samples. Every rank has all. */
static size_t data(const struct memory_case *of)
{
    size_t sample = of->model->widths[0] + of->targets;
    return FLOAT_BYTES * ((of->train + of->test) * sample + of->train);
}

/* 4 rows x (1 label + outputs). */
static size_t batch(const struct memory_case *of)
{
    return FLOAT_BYTES * rows(of) * (1 + of->model->widths[of->model->layers]);
}

/* A staging buffer for each other rank. */
static size_t links(const struct memory_case *of, size_t rank)
{
    return of->stage == STAGE_ALONE
               ? 0
               : comm_memory_bytes(&of->options->link_spec, (int)rank, of->world);
}

/* 2 bytes an element of the longest bucket, and of all ranks' parts of one chunk of it; with error
 * feedback 4 P more. */
static size_t compressed(const struct memory_case *of)
{
    const struct options *options = of->options;
    return of->stage == STAGE_ALONE || options->compress == COMPRESS_NONE
               ? 0
               : compress_memory_bytes(ddp_longest_bucket(options, of->model), of->world,
                                       of->model->count, options->error_feedback);
}

static size_t sum_of(const struct pool_plan *pool)
{
    size_t sum = 0;
    for (size_t i = 0; i < pool->count; i++)
        sum += pool->rooms[i];
    return sum;
}

/* Stage 2: 4 x the buffers that buckets of gradients take turns in, about the two longest of weights and of
 * biases; with --accumulate all buckets. Stage 3: and those of parameters, of a layer and the next. */
static size_t pools(const struct memory_case *of)
{
    struct pool_plan pool;
    size_t sum = 0;
    if (of->stage >= 2) {
        zero2_plan(&pool, &of->script, &of->buckets, zero2_keeps_all(of->options));
        sum += sum_of(&pool);
    }
    if (of->stage >= 3) {
        zero3_plan(&pool, &of->script, of->model, &of->buckets,
                   zero3_sharded(&of->buckets, of->options->persist_bytes));
        sum += sum_of(&pool);
    }
    return FLOAT_BYTES * sum;
}

/* The last steps of --trace; 4 P more where whole tensors are to be dumped and none are kept. */
static size_t other(const struct memory_case *of)
{
    const struct options *options = of->options;
    bool dumps = of->stage >= 3 && options->dump;
    return (options->trace ? trace_memory_bytes() : 0) +
           (dumps ? FLOAT_BYTES * of->model->count : 0);
}

struct memory_plan memory_plan_of(const struct memory_case *of, size_t rank)
{
    struct memory_plan plan = {
        .bytes = {[MEMORY_PARAMETERS] = parameters(of, rank),
                  [MEMORY_GRADIENTS] = gradients(of, rank),
                  [MEMORY_OPTIMIZER] = optimizer(of, rank),
                  [MEMORY_ACTIVATIONS] = activations(of),
                  [MEMORY_OTHER] = other(of)},
        .buffers = {[BUFFER_DATA] = data(of),
                    [BUFFER_BATCH] = batch(of),
                    [BUFFER_LINKS] = links(of, rank),
                    [BUFFER_COMPRESS] = compressed(of),
                    [BUFFER_POOLS] = pools(of),
                    [BUFFER_RECORD] = of->options->record ? RECORD_BUFFER_BYTES : 0},
    };
    for (int i = 0; i < BUFFERS; i++)
        plan.bytes[MEMORY_BUFFERS] += plan.buffers[i];
    for (int use = 0; use < MEMORY_USES; use++)
        plan.total_bytes += plan.bytes[use];
    return plan;
}

const char *memory_buffer_name(enum memory_buffer buffer)
{
    static const char *const names[BUFFERS] = {"data",     "batch", "links",
                                               "compress", "pools", "record"};
    return names[buffer];
}
