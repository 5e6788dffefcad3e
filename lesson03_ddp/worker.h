/*
 * worker: the communication thread. It reduces buckets while backward still computes.
 *
 * One thread owns the communicator and reduces buckets 0, 1, 2, ... strictly in this order, each
 * when it has been submitted. All ranks reduce the same bucket at the same time, whatever order
 * their gradients became ready in.
 *
 *     backward   | fc3 |  fc2  |   fc1   | wait
 *                    v submit 0  v submit 1 v submit 2
 *     worker           [ ring 0 ] [  ring 1  ][ ring 2 ]
 *
 * Between worker_wait and the next submit the thread sleeps, and its communicator may be used by
 * the thread that waited.
 */
#ifndef LESSON03_WORKER_H
#define LESSON03_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct worker {
    int (*reduce)(void *context, size_t bucket); // 0 or an error, which ends all work
    void *context;
    uv_thread_t thread;
    bool started;

    uv_mutex_t lock; // held for everything below
    uv_cond_t changed;
    size_t submitted; // buckets handed over so far in this step
    size_t begun;     // buckets whose reduction has begun
    size_t finished;  // buckets reduced
    bool stopping;
    int error;           // the first failure, 0 while all is well
    double busy_seconds; // spent reducing in this step
};

/* 0, or a negative error of the thread's creation. */
int worker_start(struct worker *worker, int (*reduce)(void *context, size_t bucket), void *context);

/* Lets the thread finish what was submitted, and ends it. Accepts a zeroed struct. */
void worker_stop(struct worker *worker);

/* A new step begins: bucket 0 is next. Only when all that was submitted is finished. */
void worker_reset(struct worker *worker);

/* Hands over the next bucket. Its memory is the worker's until it is finished. */
void worker_submit(struct worker *worker);

/* Waits for all submitted buckets. 0, or the first error. */
int worker_wait(struct worker *worker);

/* Buckets whose reduction has begun, at this moment. */
size_t worker_begun(struct worker *worker);

#endif
