/*
 * pool: a few buffers that buckets take turns in.
 *
 *     free --take--> filling --hand over--> in flight --await--> filling --give back--> free
 *
 * What is filling is the training thread's: it is written there, or read. What is in flight is the
 * worker's, until the job with its ticket is done.
 *
 * Memory is taken once, at set-up. Which buckets meet is known by then (script.h), and so is the buffer of each:
 * two that meet have different ones, others may share. Large ones choose first, so that they share with
 * large ones, and a small one does not lie in a large buffer unless it costs nothing:
 *
 *     buckets        fc3.weight  fc2.bias  fc2.weight  fc1.bias  fc1.weight      neighbours meet
 *     buffers             a          c          b          d          a
 *
 * A bucket whose buffer is still under way with another waits for it.
 *
 * Every call is the training thread's: the worker never sees a state.
 */
#ifndef LESSON04_POOL_H
#define LESSON04_POOL_H

#include "common/memory.h"
#include "lesson03_ddp/ddp.h"
#include "lesson04_zero/script.h"

enum pool_state { POOL_FREE, POOL_FILLING, POOL_IN_FLIGHT };

struct pool_plan {
    size_t count;                         // buffers
    size_t rooms[MODEL_TENSORS_MOST];     // floats in each
    size_t of_bucket[MODEL_TENSORS_MOST]; // of each bucket that has one
};

/* For the buckets in `among`, where meets[b] are those that bucket b meets. */
void pool_plan_make(struct pool_plan *plan, const struct bucket_plan *buckets, script_buckets among,
                    const script_buckets *meets);

struct pool_buffer {
    enum pool_state state;
    size_t ticket; // in flight: of its job
    float *floats; // (room)
};

struct pool {
    struct worker *worker;
    const bool *given_up; // true: the run is about to stop, and any numbers will do
    struct pool_plan plan;
    struct pool_buffer buffers[MODEL_TENSORS_MOST];
    struct memory *memory;
};

/* The worker and given_up are ddp's. 0 or -ENOMEM. Release accepts a zeroed or half-built one. */
int pool_init(struct pool *pool, struct ddp *ddp, const struct pool_plan *plan,
              struct memory *memory);
void pool_release(struct pool *pool);

/* The bucket's buffer, now filling, and waited for if it is under way. Nobody else may be filling it, unless the
 * run is about to stop. */
struct pool_buffer *pool_take(struct pool *pool, size_t bucket);

void pool_hand_over(struct pool_buffer *buffer, size_t ticket);

/* Waits for its job; then it is filling. 0 or the worker's error. */
int pool_await(struct pool *pool, struct pool_buffer *buffer);

void pool_give_back(struct pool_buffer *buffer);

/* All are free: the worker has nothing left to do. */
void pool_reset(struct pool *pool);

#endif
