/* zero3: parameters live only as slices. See the header. */
#include "lesson04_zero/zero3.h"
#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static bool among(script_buckets buckets, size_t bucket)
{
    return buckets >> bucket & 1;
}

static struct slice slice_at(const struct zero3 *zero3, size_t bucket)
{
    return zero3->shard->plan->buckets[bucket].slice;
}

script_buckets zero3_sharded(const struct bucket_plan *plan, size_t persist_bytes)
{
    script_buckets sharded = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->buckets[i].slice.count * sizeof(float) > persist_bytes)
            sharded |= (script_buckets)1 << i;
    return sharded;
}

void zero3_plan(struct pool_plan *plan, const struct script *script, const struct model *model,
                const struct bucket_plan *buckets, script_buckets sharded)
{
    script_buckets meets[MODEL_TENSORS_MOST];
    script_here(script, model, buckets, sharded, meets);
    pool_plan_make(plan, buckets, sharded, meets);
}

/* --- memory ---------------------------------------------------------------------------------- */

static bool rounds(const struct zero3 *zero3)
{
    return zero3->run->options.precision != PRECISION_FP32;
}

/* Where a bucket's values are now, its tensors are. */
static void place(struct zero3 *zero3, size_t bucket, float *values)
{
    const struct model *model = zero3->ddp->model;
    for (size_t i = 0; i < model->tensor_count; i++)
        if (zero3->shard->plan->of_tensor[i] == bucket)
            zero3->places->param[i] =
                values + (model->tensors[i].slice.begin - slice_at(zero3, bucket).begin);
}

static void round_values(const struct zero3 *zero3, float *values, size_t count)
{
    struct precision precision = {.kind = zero3->run->options.precision};
    precision_round(&precision, values, count);
}

static void count_what_stays(struct zero3 *zero3)
{
    const struct model *model = zero3->ddp->model;
    for (size_t i = 0; i < zero3->shard->plan->count; i++)
        zero3->stay_count += among(zero3->sharded, i) ? 0 : slice_at(zero3, i).count;
    for (size_t i = 0; i < model->tensor_count; i++)
        zero3->frozen_count += model->tensors[i].frozen ? model->tensors[i].slice.count : 0;
    zero3->stay_count += zero3->frozen_count;
}

static int take_memory(struct zero3 *zero3)
{
    struct pool_plan plan;
    struct memory *memory = &zero3->run->memory;
    zero3_plan(&plan, zero3->script, zero3->ddp->model, zero3->shard->plan, zero3->sharded);
    count_what_stays(zero3);
    size_t owned = zero3->run->param_store ? 0 : zero3->shard->count;
    zero3->param = memory_floats(memory, MEMORY_PARAMETERS, owned);
    zero3->stays = memory_floats(memory, MEMORY_PARAMETERS, zero3->stay_count);
    if (rounds(zero3))
        zero3->frozen = memory_floats(memory, MEMORY_PARAMETERS, zero3->frozen_count);
    int error = pool_init(&zero3->pool, zero3->ddp, &plan, memory);
    bool all = zero3->param && zero3->stays && (!rounds(zero3) || zero3->frozen);
    return all ? error : -ENOMEM;
}

/* The owned slices, as a run of the whole slab would have them. In a file they are already. */
static int fill_owned(struct zero3 *zero3)
{
    int error = 0;
    float *to = zero3->param;
    for (size_t i = 0; i < zero3->shard->owned_count && !error && !zero3->run->param_store; i++) {
        error = run_init_values(zero3->run, zero3->shard->owned[i], to);
        to += zero3->shard->owned[i].count;
    }
    return error;
}

/* This rank's chunk, to its place among the bucket's values. An error is the communicator's by now. */
static int put_own_chunk(const struct zero3 *zero3, size_t bucket, float *values)
{
    struct slice own = shard_chunk(zero3->shard, bucket);
    struct slice part = {zero3->shard->first[bucket], own.count};
    struct fail fail = {0};
    return run_read_param(zero3->run, part, values + own.begin, &fail);
}

/* What stays, small buckets first. Whoever asks for a frozen tensor as it is finds it in run->frozen. */
static int fill_what_stays(struct zero3 *zero3)
{
    const struct model *model = zero3->ddp->model;
    float *to = zero3->stays, *as_it_is = zero3->frozen;
    int error = 0;
    for (size_t i = 0; i < zero3->shard->plan->count && !error; i++) {
        struct slice slice = slice_at(zero3, i);
        if (among(zero3->sharded, i))
            continue;
        place(zero3, i, to);
        error = run_init_values(zero3->run, slice, to);
        to += slice.count;
    }
    for (size_t i = 0; i < model->tensor_count && !error; i++) {
        struct slice slice = model->tensors[i].slice;
        if (!model->tensors[i].frozen)
            continue;
        zero3->places->param[i] = to;
        zero3->run->frozen[i] = as_it_is ? as_it_is : to;
        error = run_init_values(zero3->run, slice, zero3->run->frozen[i]);
        to += slice.count;
        as_it_is = as_it_is ? as_it_is + slice.count : NULL;
    }
    return error;
}

int zero3_init(struct zero3 *zero3, struct run *run, struct ddp *ddp, const struct shard *shard,
               const struct script *script, struct places *places)
{
    *zero3 =
        (struct zero3){.shard = shard, .run = run, .ddp = ddp, .places = places, .script = script};
    zero3->sharded = zero3_sharded(shard->plan, run->options.persist_bytes);
    int error = take_memory(zero3);
    if (error)
        return fail_set(&run->fail, error, "no memory for this rank's %zu of %zu parameters",
                        shard->count, run->model.count);
    run->param = run->param_store ? NULL : zero3->param;
    error = fill_owned(zero3);
    return error ? error : fill_what_stays(zero3);
}

void zero3_release(struct zero3 *zero3)
{
    if (zero3->run) {
        zero3->run->param = NULL;
        struct memory *memory = &zero3->run->memory;
        memory_return(memory, MEMORY_PARAMETERS, zero3->param,
                      zero3->run->param_store ? 0 : zero3->shard->count);
        memory_return(memory, MEMORY_PARAMETERS, zero3->stays, zero3->stay_count);
        memory_return(memory, MEMORY_PARAMETERS, zero3->frozen, zero3->frozen_count);
    }
    pool_release(&zero3->pool);
    *zero3 = (struct zero3){0};
}

/* --- layer by layer -------------------------------------------------------------------------- */

static void drop(struct zero3 *zero3, script_buckets buckets)
{
    for (size_t i = 0; i < zero3->shard->plan->count; i++)
        if (among(buckets, i))
            pool_give_back(zero3->buffers[i]);
    zero3->here &= ~buckets;
}

/* Begins to gather. A run that is about to stop takes its buffers, and sends nothing more. */
static void fetch(struct zero3 *zero3, script_buckets buckets)
{
    // task 04.5 {
    for (size_t i = 0; i < zero3->shard->plan->count; i++) {
        if (!among(buckets, i))
            continue;
        struct pool_buffer *buffer = pool_take(&zero3->pool, i);
        zero3->buffers[i] = buffer;
        zero3->gathering[i] = buffer->floats;
        if (!zero3->ddp->unused)
            pool_hand_over(buffer, worker_submit(&zero3->ddp->worker, DDP_OTHER + i));
    }
    zero3->here |= buckets;
    // } 04.5
}

/* An error is told at the end of the pass: until then all go on, with whatever numbers. */
static void await(struct zero3 *zero3, script_buckets buckets)
{
    // task 04.5 {
    for (size_t i = 0; i < zero3->shard->plan->count; i++) {
        if (!among(buckets, i))
            continue;
        if (zero3->buffers[i]->state == POOL_IN_FLIGHT)
            pool_await(&zero3->pool, zero3->buffers[i]);
        place(zero3, i, zero3->buffers[i]->floats);
    }
    // } 04.5
}

/* The layer after this one, or none. */
static bool next_layer(struct zero3 *zero3, size_t layer, size_t *next)
{
    if (!zero3->training) {
        *next = layer + 1;
        return *next < zero3->ddp->model->layers;
    }
    assert(zero3->script->uses[zero3->use] == layer);
    zero3->use = (zero3->use + 1) % zero3->script->use_count; // the next micro-batch begins anew
    *next = zero3->script->uses[zero3->use];
    return zero3->use > 0;
}

static script_buckets needs(const struct zero3 *zero3, size_t layer)
{
    return script_needs(zero3->ddp->model, zero3->shard->plan, layer, zero3->sharded);
}

void zero3_layer(struct zero3 *zero3, size_t layer)
{
    script_buckets now = needs(zero3, layer);
    size_t next;
    drop(zero3, zero3->here & ~now);
    fetch(zero3, now & ~zero3->here);
    bool more = next_layer(zero3, layer, &next);
    if (more)
        fetch(zero3, needs(zero3, next) & ~zero3->here);
    double began = clock_seconds();
    profile_lap(zero3->run->profile, PROFILE_ELEMENTWISE);
    await(zero3, now);
    zero3->waited_seconds += clock_seconds() - began;
    profile_lap(zero3->run->profile, PROFILE_WAIT);
}

int zero3_gather(struct zero3 *zero3, size_t bucket)
{
    // task 04.5 {
    float *values = zero3->gathering[bucket];
    int error = put_own_chunk(zero3, bucket, values);
    if (!error)
        error = shard_gather_bucket(zero3->shard, zero3->ddp->comm, bucket, values);
    round_values(zero3, values, slice_at(zero3, bucket).count);
    return error;
    // } 04.5
}

void zero3_begin(struct zero3 *zero3)
{
    zero3_end(zero3); // an evaluation leaves its last layer
    zero3->training = true;
    zero3->waited_seconds = 0;
    fetch(zero3, needs(zero3, zero3->script->uses[0])); // while samples are fetched
}

void zero3_end(struct zero3 *zero3)
{
    zero3->training = false;
    zero3->use = 0;
    zero3->here = 0;
    pool_reset(&zero3->pool);
}

/* What computes is rounded; what is saved is not. */
static void round_frozen(struct zero3 *zero3, float *rounded)
{
    if (!zero3->frozen)
        return;
    memcpy(rounded, zero3->frozen, zero3->frozen_count * sizeof *rounded);
    round_values(zero3, rounded, zero3->frozen_count);
}

int zero3_start(struct zero3 *zero3)
{
    round_frozen(zero3, zero3->stays + (zero3->stay_count - zero3->frozen_count));
    return zero3_refresh(zero3);
}

int zero3_refresh(struct zero3 *zero3)
{
    float *to = zero3->stays;
    int error = 0;
    for (size_t i = 0; i < zero3->shard->plan->count && !error; i++) {
        struct slice slice = slice_at(zero3, i);
        if (among(zero3->sharded, i))
            continue;
        error = put_own_chunk(zero3, i, to);
        if (!error)
            error = shard_gather_bucket(zero3->shard, zero3->ddp->comm, i, to);
        round_values(zero3, to, slice.count);
        to += slice.count;
    }
    comm_tag(zero3->ddp->comm, 0);
    return error;
}
