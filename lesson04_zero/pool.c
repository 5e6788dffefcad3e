/* pool: a few buffers that buckets take turns in. See the header. */
#include "lesson04_zero/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

/* The largest of some buckets, the first of equal ones. */
static size_t largest(const struct bucket_plan *buckets, script_buckets among)
{
    size_t found = buckets->count;
    for (size_t i = 0; i < buckets->count; i++) {
        bool larger = found == buckets->count ||
                      buckets->buckets[i].slice.count > buckets->buckets[found].slice.count;
        if (among >> i & 1 && larger)
            found = i;
    }
    return found;
}

void pool_plan_make(struct pool_plan *plan, const struct bucket_plan *buckets, script_buckets among,
                    const script_buckets *meets)
{
    script_buckets shares[MODEL_TENSORS_MOST] = {0}; // of each buffer
    *plan = (struct pool_plan){0};
    while (among) {
        size_t bucket = largest(buckets, among), buffer = 0;
        while (shares[buffer] & meets[bucket])
            buffer++;
        if (buffer == plan->count)
            plan->rooms[plan->count++] = buckets->buckets[bucket].slice.count;
        shares[buffer] |= (script_buckets)1 << bucket;
        plan->of_bucket[bucket] = buffer;
        among &= ~((script_buckets)1 << bucket);
    }
}

int pool_init(struct pool *pool, struct ddp *ddp, const struct pool_plan *plan,
              struct memory *memory)
{
    bool all = true;
    *pool = (struct pool){
        .worker = &ddp->worker, .given_up = &ddp->unused, .plan = *plan, .memory = memory};
    for (size_t i = 0; i < plan->count; i++) {
        pool->buffers[i].floats = memory_floats(memory, MEMORY_BUFFERS, plan->rooms[i]);
        all = all && pool->buffers[i].floats;
    }
    return all ? 0 : -ENOMEM;
}

void pool_release(struct pool *pool)
{
    for (size_t i = 0; i < pool->plan.count; i++)
        memory_return(pool->memory, MEMORY_BUFFERS, pool->buffers[i].floats, pool->plan.rooms[i]);
    *pool = (struct pool){0};
}

struct pool_buffer *pool_take(struct pool *pool, size_t bucket)
{
    struct pool_buffer *buffer = &pool->buffers[pool->plan.of_bucket[bucket]];
    assert(buffer->state != POOL_FILLING || *pool->given_up || worker_wait_for(pool->worker, 0));
    if (buffer->state == POOL_IN_FLIGHT)
        worker_wait_for(pool->worker, buffer->ticket);
    buffer->state = POOL_FILLING;
    return buffer;
}

void pool_hand_over(struct pool_buffer *buffer, size_t ticket)
{
    assert(buffer->state == POOL_FILLING);
    buffer->state = POOL_IN_FLIGHT;
    buffer->ticket = ticket;
}

int pool_await(struct pool *pool, struct pool_buffer *buffer)
{
    assert(buffer->state == POOL_IN_FLIGHT);
    buffer->state = POOL_FILLING;
    return worker_wait_for(pool->worker, buffer->ticket);
}

void pool_give_back(struct pool_buffer *buffer)
{
    assert(buffer->state == POOL_FILLING);
    buffer->state = POOL_FREE;
}

void pool_reset(struct pool *pool)
{
    for (size_t i = 0; i < pool->plan.count; i++)
        pool->buffers[i].state = POOL_FREE;
}
