/* zero2: a gradient lives only until its owner has the sum. See the header. */
#include "lesson04_zero/zero2.h"
#include "lesson02_allreduce/allreduce.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

bool zero2_keeps_all(const struct options *options)
{
    return options->accumulate > 1 || !options->overlap;
}

/* Layers alternate large buckets and small ones, weights and biases: the next large one is two away. */
enum { APART = 2 };

void zero2_plan(struct pool_plan *plan, const struct script *script,
                const struct bucket_plan *buckets, bool keeps_all)
{
    script_buckets meets[MODEL_TENSORS_MOST] = {0}, all = 0;
    for (size_t i = 0; i < buckets->count; i++)
        all |= (script_buckets)1 << i;
    for (size_t i = 0; i < buckets->count; i++) {
        meets[i] |= keeps_all ? all : script->open_with[i];
        for (size_t j = i + 1; j <= i + APART && j < buckets->count; j++) {
            meets[i] |= (script_buckets)1 << j;
            meets[j] |= (script_buckets)1 << i;
        }
    }
    pool_plan_make(plan, buckets, all, meets);
}

int zero2_init(struct zero2 *zero2, struct run *run, struct ddp *ddp, const struct shard *shard,
               const struct script *script, struct places *places)
{
    struct pool_plan plan;
    *zero2 = (struct zero2){.shard = shard, .ddp = ddp, .places = places, .run = run};
    zero2_plan(&plan, script, shard->plan, zero2_keeps_all(&run->options));
    run->grad = zero2->grad = memory_floats(&run->memory, MEMORY_GRADIENTS, shard->count);
    int error = pool_init(&zero2->pool, ddp, &plan, &run->memory);
    return zero2->grad ? error : -ENOMEM;
}

void zero2_release(struct zero2 *zero2)
{
    if (zero2->run) {
        zero2->run->grad = NULL;
        memory_return(&zero2->run->memory, MEMORY_GRADIENTS, zero2->grad, zero2->shard->count);
    }
    pool_release(&zero2->pool);
    *zero2 = (struct zero2){0};
}

/* A gradient begins as 0. */
static void begin(struct zero2 *zero2, size_t bucket)
{
    struct slice slice = zero2->shard->plan->buckets[bucket].slice;
    struct pool_buffer *buffer = pool_take(&zero2->pool, bucket);
    memset(buffer->floats, 0, slice.count * sizeof *buffer->floats);
    zero2->filling[bucket] = buffer;
    for (size_t i = 0; i < zero2->ddp->model->tensor_count; i++)
        if (zero2->shard->plan->of_tensor[i] == bucket)
            zero2->places->grad[i] =
                buffer->floats + (zero2->ddp->model->tensors[i].slice.begin - slice.begin);
}

void zero2_add(struct zero2 *zero2, size_t tensor)
{
    size_t bucket = zero2->shard->plan->of_tensor[tensor];
    if (!zero2->filling[bucket])
        begin(zero2, bucket);
}

/* One that nothing was added to is sent as zeros. */
void zero2_submit(struct zero2 *zero2, size_t bucket)
{
    // task 04.4 {
    if (!zero2->filling[bucket])
        begin(zero2, bucket);
    struct pool_buffer *buffer = zero2->filling[bucket];
    zero2->sending[bucket] = buffer->floats;
    zero2->filling[bucket] = NULL;
    pool_hand_over(buffer, worker_submit(&zero2->ddp->worker, bucket));
    // } 04.4
}

static int scatter(struct zero2 *zero2, size_t bucket)
{
    struct ddp *ddp = zero2->ddp;
    struct slice slice = zero2->shard->plan->buckets[bucket].slice;
    float *values = zero2->sending[bucket];
    if (ddp->compresses)
        return compress_reduce_scatter(&ddp->compress, ddp->comm, values, slice);
    return reduce_scatter(ddp->comm, values, slice.count, COMM_F32, COMM_SUM);
}

int zero2_reduce(struct zero2 *zero2, size_t bucket)
{
    // task 04.4 {
    struct slice own = shard_chunk(zero2->shard, bucket);
    int error = scatter(zero2, bucket);
    if (!error)
        memcpy(zero2->grad + zero2->shard->first[bucket], zero2->sending[bucket] + own.begin,
               own.count * sizeof *zero2->grad);
    return error;
    // } 04.4
}

void zero2_end(struct zero2 *zero2)
{
    pool_reset(&zero2->pool);
    memset(zero2->filling, 0, sizeof zero2->filling);
}
