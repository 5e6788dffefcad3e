/* worker: the communication thread. See the header. */
#include "lesson03_ddp/worker.h"
#include "common/clock.h"

/* With the lock held: is there a bucket to reduce? After an error there is none any more. */
static bool has_work(const struct worker *worker)
{
    return worker->finished < worker->submitted && worker->error == 0;
}

/* With the lock held, but not while the ring runs. */
static void reduce_next(struct worker *worker)
{
    size_t bucket = worker->begun++;
    uv_cond_broadcast(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    double began = clock_seconds();
    int error = worker->reduce(worker->context, bucket);
    double seconds = clock_seconds() - began;
    uv_mutex_lock(&worker->lock);
    worker->busy_seconds += seconds;
    worker->error = error;
    worker->finished++;
    uv_cond_broadcast(&worker->changed);
}

static void run(void *argument)
{
    struct worker *worker = argument;
    uv_mutex_lock(&worker->lock);
    for (;;) {
        while (!has_work(worker) && !worker->stopping)
            uv_cond_wait(&worker->changed, &worker->lock);
        if (!has_work(worker))
            break;
        reduce_next(worker);
    }
    uv_mutex_unlock(&worker->lock);
}

int worker_start(struct worker *worker, int (*reduce)(void *context, size_t bucket), void *context)
{
    *worker = (struct worker){.reduce = reduce, .context = context};
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

void worker_submit(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    worker->submitted++;
    uv_cond_broadcast(&worker->changed);
    uv_mutex_unlock(&worker->lock);
}

int worker_wait(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    while (has_work(worker))
        uv_cond_wait(&worker->changed, &worker->lock);
    int error = worker->error;
    uv_mutex_unlock(&worker->lock);
    return error;
}

size_t worker_begun(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    size_t begun = worker->begun;
    uv_mutex_unlock(&worker->lock);
    return begun;
}
