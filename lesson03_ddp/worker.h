/*
 * worker: the communication thread. It reduces buckets while backward still computes.
 *
 * One thread owns the communicator and does jobs strictly in the order in which they were submitted;
 * a job is a bucket to reduce. All ranks submit the same buckets in the same order, and so reduce the
 * same one at the same time, whatever order their gradients became ready in.
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

enum { WORKER_JOBS_MOST = 128 }; // submitted and not finished

struct worker {
    int (*work)(void *context, size_t job); // 0 or an error, which ends all work
    void *context;
    uv_thread_t thread;
    bool started;

    uv_mutex_t lock; // held for everything below
    uv_cond_t changed;
    size_t jobs[WORKER_JOBS_MOST]; // that of ticket t is at t % WORKER_JOBS_MOST
    size_t submitted;              // jobs handed over so far in this step
    size_t begun;                  // jobs that have begun
    size_t finished;               // jobs done
    bool stopping;
    int error;           // the first failure, 0 while all is well
    double busy_seconds; // spent on jobs in this step
};

/* 0, or a negative error of the thread's creation. */
int worker_start(struct worker *worker, int (*work)(void *context, size_t job), void *context);

/* Lets the thread finish what was submitted, and ends it. Accepts a zeroed struct. */
void worker_stop(struct worker *worker);

/* A new step begins: tickets count from 0 again. Only when all that was submitted is finished. */
void worker_reset(struct worker *worker);

/* Hands over a job, a bucket's index for instance, and returns its ticket. Its memory is the worker's
 * until it is finished. */
size_t worker_submit(struct worker *worker, size_t job);

/* Waits for all submitted jobs, or for those up to a ticket. 0, or the first error, of the last job too;
 * behind an error nothing is waited for. */
int worker_wait(struct worker *worker);
int worker_wait_for(struct worker *worker, size_t ticket);

/* Jobs that have begun, at this moment. */
size_t worker_begun(struct worker *worker);

#endif
