/* pool: a few buffers that buckets take turns in. See the header. */
#include "lesson04_zero/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

int pool_init(struct pool *pool, struct ddp *ddp, const size_t *rooms, size_t count,
              struct memory *memory)
{
    *pool = (struct pool){.worker = &ddp->worker, .given_up = &ddp->unused, .memory = memory};
    for (; pool->count < count; pool->count++) {
        struct pool_buffer *buffer = &pool->buffers[pool->count];
        buffer->room = rooms[pool->count];
        buffer->floats = memory_floats(memory, MEMORY_BUFFERS, buffer->room);
        if (!buffer->floats)
            return -ENOMEM;
    }
    return 0;
}

void pool_release(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        memory_return(pool->memory, MEMORY_BUFFERS, pool->buffers[i].floats, pool->buffers[i].room);
    *pool = (struct pool){0};
}

/* The one in this state with the least room that is enough, or the least ticket. NULL: there is none. */
static struct pool_buffer *find(struct pool *pool, size_t want, enum pool_state state)
{
    struct pool_buffer *found = NULL;
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_buffer *buffer = &pool->buffers[i];
        if (buffer->state != state || buffer->room < want)
            continue;
        bool better = !found || (state == POOL_FREE ? buffer->room < found->room
                                                    : buffer->ticket < found->ticket);
        found = better ? buffer : found;
    }
    return found;
}

struct pool_buffer *pool_take(struct pool *pool, size_t want)
{
    struct pool_buffer *buffer = find(pool, want, POOL_FREE);
    if (!buffer) {
        buffer = find(pool, want, POOL_IN_FLIGHT);
        assert(buffer || *pool->given_up || worker_wait_for(pool->worker, 0));
        if (buffer)
            worker_wait_for(pool->worker, buffer->ticket);
        else
            buffer = find(pool, want, POOL_FILLING);
    }
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
    for (size_t i = 0; i < pool->count; i++)
        pool->buffers[i].state = POOL_FREE;
}
