/* worker: the communication thread. See the header. */
#include "lesson03_ddp/worker.h"
#include "common/clock.h"

#include <assert.h>

/* With the lock held: is there a job to do? After an error there is none any more. */
static bool has_work(const struct worker *worker)
{
    // task 03.3 {
    return worker->finished < worker->submitted && worker->error == 0;
    // } 03.3
}

/* With the lock held, but not while the ring runs. */
static void work_next(struct worker *worker)
{
    // task 03.3 {
    size_t job = worker->jobs[worker->begun++ % WORKER_JOBS_MOST];
    uv_cond_broadcast(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    double began = clock_seconds();
    int error = worker->work(worker->context, job);
    double seconds = clock_seconds() - began;
    uv_mutex_lock(&worker->lock);
    worker->busy_seconds += seconds;
    worker->error = error;
    worker->finished++;
    uv_cond_broadcast(&worker->changed);
    // } 03.3
}

static void run(void *argument)
{
    // task 03.3 {
    struct worker *worker = argument;
    uv_mutex_lock(&worker->lock);
    for (;;) {
        while (!has_work(worker) && !worker->stopping)
            uv_cond_wait(&worker->changed, &worker->lock);
        if (!has_work(worker))
            break;
        work_next(worker);
    }
    uv_mutex_unlock(&worker->lock);
    // } 03.3
}

int worker_start(struct worker *worker, int (*work)(void *context, size_t job), void *context)
{
    *worker = (struct worker){.work = work, .context = context};
    int error = uv_mutex_init(&worker->lock);
    if (error)
        return error;
    error = uv_cond_init(&worker->changed);
    if (error) {
        uv_mutex_destroy(&worker->lock);
        return error;
    }
    error = uv_thread_create(&worker->thread, run, worker);
    worker->started = error == 0;
    if (error) {
        uv_cond_destroy(&worker->changed);
        uv_mutex_destroy(&worker->lock);
    }
    return error;
}

void worker_stop(struct worker *worker)
{
    if (!worker->started)
        return;
    uv_mutex_lock(&worker->lock);
    worker->stopping = true;
    uv_cond_broadcast(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    uv_thread_join(&worker->thread);
    uv_cond_destroy(&worker->changed);
    uv_mutex_destroy(&worker->lock);
    worker->started = false;
}

void worker_reset(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    worker->submitted = worker->begun = worker->finished = 0;
    worker->busy_seconds = 0;
    uv_mutex_unlock(&worker->lock);
}

size_t worker_submit(struct worker *worker, size_t job)
{
    // task 03.3 {
    uv_mutex_lock(&worker->lock);
    size_t ticket = worker->submitted++;
    assert(worker->error || ticket - worker->finished < WORKER_JOBS_MOST);
    worker->jobs[ticket % WORKER_JOBS_MOST] = job;
    uv_cond_broadcast(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    return ticket;
    // } 03.3
}

int worker_wait(struct worker *worker)
{
    // task 03.3 {
    uv_mutex_lock(&worker->lock);
    while (has_work(worker))
        uv_cond_wait(&worker->changed, &worker->lock);
    int error = worker->error;
    uv_mutex_unlock(&worker->lock);
    return error;
    // } 03.3
}

int worker_wait_for(struct worker *worker, size_t ticket)
{
    // task 03.3 {
    uv_mutex_lock(&worker->lock);
    while (has_work(worker) && worker->finished <= ticket)
        uv_cond_wait(&worker->changed, &worker->lock);
    int error = worker->error;
    uv_mutex_unlock(&worker->lock);
    return error;
    // } 03.3
}

size_t worker_begun(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    size_t begun = worker->begun;
    uv_mutex_unlock(&worker->lock);
    return begun;
}
