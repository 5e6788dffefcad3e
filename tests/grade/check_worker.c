/* check_worker: is the worker a queue, and a thread of its own? See lesson03.h. */
#include "tests/grade/lesson03.h"
#include "tests/lock.h"
#include "lesson03_ddp/worker.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STEPS = 3, JOBS_MOST = 600, LINE = 100, NOBODY = 1 << 30 };

/* What the worker was asked to do. Written by its thread, read once it was waited for. */
struct desk {
    struct worker worker;
    uv_thread_t caller;
    size_t seen[STEPS * JOBS_MOST], count; // as they begin
    size_t over;                           // that have ended
    size_t fail_at;                        // this job fails
    bool in_caller;                        // some job ran in the thread that submitted it
    bool gated;                            // each job says it has begun, and waits at the gate
    bool locked;                           // unless it found the worker's lock held all the while
    useconds_t lasts;                      // each job, in its sleep
    uv_sem_t begun, gate;
};

static int work(void *context, size_t job)
{
    struct desk *desk = context;
    uv_thread_t self = uv_thread_self();
    desk->in_caller |= uv_thread_equal(&self, &desk->caller) != 0;
    if (desk->count < STEPS * JOBS_MOST)
        desk->seen[desk->count++] = job;
    if (desk->gated) {
        desk->locked = desk->locked || !lock_is_free(&desk->worker.lock);
        uv_sem_post(&desk->begun);
        if (!desk->locked)
            uv_sem_wait(&desk->gate);
    }
    usleep(desk->lasts);
    desk->over++;
    return job == desk->fail_at ? -EPIPE : 0;
}

static int desk_open(struct desk *desk, struct grade *grade)
{
    *desk = (struct desk){.caller = uv_thread_self(), .fail_at = NOBODY};
    uv_sem_init(&desk->begun, 0);
    uv_sem_init(&desk->gate, 0);
    int error = worker_start(&desk->worker, work, desk);
    return grade_expect(grade, error == 0, "expected a thread, found error %d", error);
}

static int expect_wait(struct desk *desk, struct grade *grade, int expected, const char *when)
{
    int error = worker_wait(&desk->worker);
    return grade_expect(grade, error == expected, "%s: expected worker_wait to return %d, found %d",
                        when, expected, error);
}

static int expect_wait_for(struct desk *desk, struct grade *grade, size_t ticket, int expected,
                           const char *when)
{
    int error = worker_wait_for(&desk->worker, ticket);
    return grade_expect(grade, error == expected,
                        "%s: expected worker_wait_for ticket %zu to return %d, found %d", when,
                        ticket, expected, error);
}

/* --- in order -------------------------------------------------------------------------------- */

/* A step of more jobs than the queue has places, never more than LINE of them waiting. */
static int check_step(struct desk *desk, struct grade *grade, size_t step)
{
    size_t jobs[JOBS_MOST], count = grade_draw(grade, 3 * WORKER_JOBS_MOST, JOBS_MOST);
    size_t before = desk->count;
    int wrong = 0;
    worker_reset(&desk->worker);
    for (size_t i = 0; i < count && !wrong; i++) {
        jobs[i] = grade_draw(grade, 0, 9999);
        size_t ticket = worker_submit(&desk->worker, jobs[i]);
        wrong =
            grade_expect(grade, ticket == i, "job %zu of step %zu: expected ticket %zu, found %zu",
                         i, step, i, ticket);
        if (i % LINE == LINE - 1)
            wrong = wrong || expect_wait(desk, grade, 0, "100 jobs at once");
    }
    wrong = wrong || expect_wait(desk, grade, 0, "the last jobs of a step") ||
            grade_expect(grade, desk->count - before == count,
                         "step %zu: expected %zu jobs done by the end of worker_wait, found %zu",
                         step, count, desk->count - before);
    for (size_t i = 0; i < count && !wrong; i++)
        wrong = grade_expect(grade, desk->seen[before + i] == jobs[i],
                             "step %zu, job %zu of %zu: expected bucket %zu, found %zu", step, i,
                             count, jobs[i], desk->seen[before + i]);
    return wrong;
}

/* Of one step, and of all its jobs. */
static int check_busy_seconds(struct desk *desk, struct grade *grade)
{
    enum { JOBS = 5, MICROSECONDS = 500 };
    static const double least = 1e-6 * JOBS * MICROSECONDS;
    worker_reset(&desk->worker);
    desk->lasts = MICROSECONDS;
    for (size_t i = 0; i < JOBS; i++)
        worker_submit(&desk->worker, i);
    return expect_wait(desk, grade, 0, "jobs that sleep") ||
           grade_expect(grade, desk->worker.busy_seconds >= least,
                        "%d jobs of %d us: expected busy_seconds of %g or more, found %g", JOBS,
                        MICROSECONDS, least, desk->worker.busy_seconds);
}

int worker_in_order(struct grade *grade)
{
    struct desk desk;
    int wrong = desk_open(&desk, grade);
    for (size_t step = 0; step < STEPS && !wrong; step++)
        wrong = check_step(&desk, grade, step);
    wrong = wrong ||
            grade_expect(grade, !desk.in_caller,
                         "expected jobs in a thread of their own, found one in the caller's") ||
            check_busy_seconds(&desk, grade);
    if (!wrong)
        worker_stop(&desk.worker);
    return wrong;
}

/* --- early ----------------------------------------------------------------------------------- */

/* True when a job has begun within some seconds; nobody waits for it otherwise. */
static bool begins(struct desk *desk)
{
    enum { LOOKS = 4000 };
    for (int i = 0; i < LOOKS; i++) {
        if (uv_sem_trywait(&desk->begun) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

/* While one job is under way, others may be handed over, and none of them begins. */
static int check_busy(struct desk *desk, struct grade *grade, size_t more)
{
    for (size_t i = 1; i <= more; i++)
        worker_submit(&desk->worker, i);
    int wrong = grade_expect(grade, worker_begun(&desk->worker) == 1,
                             "one job under way, %zu waiting: expected 1 begun, found %zu", more,
                             worker_begun(&desk->worker));
    for (size_t i = 0; i < more && !wrong; i++) {
        uv_sem_post(&desk->gate);
        wrong = expect_wait_for(desk, grade, i, 0, "others wait behind its job") || // not for all
                grade_expect(grade, desk->over == i + 1,
                             "worker_wait_for ticket %zu: expected its return when %zu jobs are "
                             "over, found %zu",
                             i, i + 1, desk->over) ||
                grade_expect(grade, begins(desk),
                             "expected job %zu to begin when job %zu is done, found none begun",
                             i + 1, i) ||
                grade_expect(grade, desk->seen[i + 1] == i + 1,
                             "expected job %zu to begin when job %zu is done, found job %zu", i + 1,
                             i, desk->seen[i + 1]);
    }
    uv_sem_post(&desk->gate);
    return wrong || expect_wait(desk, grade, 0, "the last of several jobs");
}

int worker_begins(struct grade *grade)
{
    struct desk desk;
    int wrong = desk_open(&desk, grade);
    if (wrong)
        return wrong;
    desk.gated = true;
    desk.lasts = 5000; // behind the gate
    worker_submit(&desk.worker, 0);
    wrong = grade_expect(grade, begins(&desk),
                         "expected a job to begin when it is submitted, found none begun") ||
            grade_expect(grade, !desk.locked,
                         "expected the worker's lock free while a job runs, found it held") ||
            check_busy(&desk, grade, grade_draw(grade, 3, 9));
    if (!wrong)
        worker_stop(&desk.worker);
    return wrong;
}

/* --- errors and ends ------------------------------------------------------------------------- */

static int check_error(struct grade *grade, size_t fail_at, size_t count)
{
    struct desk desk;
    char when[64];
    snprintf(when, sizeof when, "job %zu of 0 to %zu fails", fail_at, count - 1);
    int wrong = desk_open(&desk, grade);
    desk.fail_at = fail_at;
    for (size_t i = 0; i < count; i++)
        worker_submit(&desk.worker, i);
    wrong =
        wrong || expect_wait(&desk, grade, -EPIPE, when) ||
        expect_wait_for(&desk, grade, fail_at, -EPIPE, when) ||
        expect_wait_for(&desk, grade, count - 1, -EPIPE, when); // of a job that never begins, too
    worker_submit(&desk.worker, count);
    wrong = wrong || expect_wait(&desk, grade, -EPIPE, "one more job after that error");
    worker_stop(&desk.worker);
    return wrong || grade_expect(grade, desk.count == fail_at + 1,
                                 "job %zu fails: expected %zu jobs begun and no more, found %zu",
                                 fail_at, fail_at + 1, desk.count);
}

/* Stopping does what was submitted; waiting for nothing returns. */
static int check_stop(struct grade *grade, size_t count)
{
    struct desk desk;
    int wrong = desk_open(&desk, grade) || expect_wait(&desk, grade, 0, "no job");
    desk.lasts = 500;
    for (size_t i = 0; i < count; i++)
        worker_submit(&desk.worker, i);
    worker_stop(&desk.worker);
    return wrong || grade_expect(grade, desk.over == count,
                                 "worker_stop: expected the %zu jobs submitted before it done, "
                                 "found %zu",
                                 count, desk.over);
}

int worker_errors(struct grade *grade)
{
    size_t count = grade_draw(grade, 5, 12);
    return check_stop(grade, count) || check_error(grade, grade_draw(grade, 1, 3), count) ||
           check_error(grade, count - 1, count); // the last one, behind which none is left undone
}

/* --- sleep ----------------------------------------------------------------------------------- */

enum { WAKES_MOST = 100 }; // of 400 for who looks every millisecond; a sleeper is woken a few times

/* What this process did not sleep through: computing, and how often it was woken. Neither grows because others
 * keep the machine busy. */
struct awake {
    double seconds;
    long times;
};

static struct awake awake_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct awake){(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                              1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
                          usage.ru_nvcsw};
}

static int check_asleep(struct grade *grade, const char *while_what, struct awake before)
{
    static const double most_seconds = 0.012;
    struct awake now = awake_so_far();
    double seconds = now.seconds - before.seconds;
    long times = now.times - before.times;
    return grade_expect(grade, seconds < most_seconds && times < WAKES_MOST,
                        "0.4 s %s: expected below %g s of computing and %d wakes, found %.3f s and "
                        "%ld: does somebody look again and again?",
                        while_what, most_seconds, WAKES_MOST, seconds, times);
}

/* An idle worker, then one whose job sleeps while the caller waits: nobody has anything to compute. */
int worker_sleeps(struct grade *grade)
{
    static const double idle_seconds = 0.4;
    struct desk desk;
    int wrong = desk_open(&desk, grade);
    struct awake before = awake_so_far();
    ranks_pause(idle_seconds);
    wrong = wrong || check_asleep(grade, "without a job", before);
    desk.lasts = (useconds_t)(1e6 * idle_seconds);
    before = awake_so_far();
    worker_submit(&desk.worker, 0);
    wrong = wrong || expect_wait(&desk, grade, 0, "a job that sleeps") ||
            check_asleep(grade, "of waiting for a job that sleeps", before);
    worker_stop(&desk.worker);
    return wrong;
}
