/*
 * pool: a few buffers that buckets take turns in.
 *
 *     free --take--> filling --hand over--> in flight --await--> filling --give back--> free
 *
 * What is filling is the training thread's: it is written there, or read. What is in flight is the
 * worker's, until the job with its ticket is done. Memory is taken once, at set-up: where all buffers are
 * taken, pool_take waits for the one that was handed over first.
 *
 * Every call is the training thread's: the worker never sees a state.
 */
#ifndef LESSON04_POOL_H
#define LESSON04_POOL_H

#include "common/memory.h"
#include "lesson03_ddp/ddp.h"

enum pool_state { POOL_FREE, POOL_FILLING, POOL_IN_FLIGHT };

struct pool_buffer {
    enum pool_state state;
    size_t ticket; // in flight: of its job
    size_t room;
    float *floats; // (room)
};

struct pool {
    struct worker *worker;
    const bool *given_up; // true: the run is about to stop, and any buffer will do
    size_t count;
    struct pool_buffer buffers[MODEL_TENSORS_MOST];
    struct memory *memory;
};

/* `count` buffers with room for rooms[i] floats each; the worker and given_up are ddp's. 0 or -ENOMEM.
 * Release accepts a zeroed one. */
int pool_init(struct pool *pool, struct ddp *ddp, const size_t *rooms, size_t count,
              struct memory *memory);
void pool_release(struct pool *pool);

/* The smallest free buffer with room for `want` floats, now filling. One with that room must be free or in
 * flight, or the run about to stop. */
struct pool_buffer *pool_take(struct pool *pool, size_t want);

void pool_hand_over(struct pool_buffer *buffer, size_t ticket);

/* Waits for its job; then it is filling. 0 or the worker's error. */
int pool_await(struct pool *pool, struct pool_buffer *buffer);

void pool_give_back(struct pool_buffer *buffer);

/* All are free: the worker has nothing left to do. */
void pool_reset(struct pool *pool);

#endif
