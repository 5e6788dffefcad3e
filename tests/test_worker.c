/* The communication thread: strictly in order, errors stop it, and it always ends. */
#include "lesson03_ddp/worker.h"
#include "tests/lock.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <unistd.h>

enum { SEEN_MOST = 256, NO_FAILURE = SEEN_MOST, PATIENCE_MS = 2000 };

/* What the worker was asked to do. Written by its thread, read once it was waited for. */
struct bench {
    struct worker worker;
    uv_thread_t caller;
    size_t seen[SEEN_MOST], count;
    size_t fail_at;         // this job fails
    useconds_t delay;       // each takes so long
    bool same_thread;       // something ran in the caller's thread
    bool locked;            // a job found the worker's lock held all the while
    uv_sem_t *gate, *begun; // a job waits at the gate, when there is one
};

/* Where the lock is held it does not wait at the gate: nobody could come and open it. */
static int work(void *context, size_t job)
{
    struct bench *bench = context;
    uv_thread_t self = uv_thread_self();
    bench->same_thread |= uv_thread_equal(&self, &bench->caller) != 0;
    bench->seen[bench->count++] = job;
    bench->locked = bench->locked || !lock_is_free(&bench->worker.lock);
    if (bench->gate) {
        uv_sem_post(bench->begun);
        if (!bench->locked)
            uv_sem_wait(bench->gate);
    }
    usleep(bench->delay);
    return job == bench->fail_at ? -EPIPE : 0;
}

static void bench_start(struct bench *bench)
{
    *bench = (struct bench){.caller = uv_thread_self(), .fail_at = NO_FAILURE};
    ck_assert_int_eq(worker_start(&bench->worker, work, bench), 0);
}

/* Once all was waited for, or the thread has ended. */
static void check_thread(const struct bench *bench)
{
    ck_assert_msg(!bench->same_thread,
                  "expected jobs in a thread of their own, found one in the caller's");
    ck_assert_msg(!bench->locked,
                  "expected the worker's lock free while a job runs, found it held");
}

static void check_count(const struct bench *bench, size_t expected, const char *when)
{
    ck_assert_msg(bench->count == expected, "%s: expected %zu jobs begun, found %zu", when,
                  expected, bench->count);
}

/* Has a job begun, or does one within some seconds? Nobody waits for it otherwise. */
static bool begins(uv_sem_t *begun)
{
    for (int i = 0; i < 2 * PATIENCE_MS; i++) {
        if (uv_sem_trywait(begun) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

static void check_order(const struct bench *bench, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(bench->seen[first + i] == i,
                      "number %zu in its step: expected job %zu, found %zu", i, i,
                      bench->seen[first + i]);
}

static void check_begun(struct bench *bench, size_t expected, const char *when)
{
    size_t begun = worker_begun(&bench->worker);
    ck_assert_msg(begun == expected, "%s: expected worker_begun to say %zu, found %zu", when,
                  expected, begun);
}

static void check_wait(struct bench *bench, int expected, const char *when)
{
    int error = worker_wait(&bench->worker);
    ck_assert_msg(error == expected, "%s: expected %d of worker_wait, found %d", when, expected,
                  error);
}

static void check_wait_for(struct bench *bench, size_t ticket, int expected, const char *when)
{
    int error = worker_wait_for(&bench->worker, ticket);
    ck_assert_msg(error == expected, "%s: expected %d of worker_wait_for ticket %zu, found %d",
                  when, expected, ticket, error);
}

static void check_submit(struct bench *bench, size_t job, size_t expected)
{
    size_t ticket = worker_submit(&bench->worker, job);
    ck_assert_msg(ticket == expected, "job %zu: expected ticket %zu, found %zu", job, expected,
                  ticket);
}

START_TEST(buckets_are_reduced_in_order_by_another_thread)
{
    struct bench bench;
    bench_start(&bench);
    bench.delay = 200;
    for (size_t step = 0; step < 3; step++) {
        worker_reset(&bench.worker);
        for (size_t i = 0; i < 20; i++)
            check_submit(&bench, i, i);
        check_wait(&bench, 0, "20 jobs of a step");
        check_count(&bench, 20 * (step + 1), "20 jobs of each step, at the end of worker_wait");
        check_order(&bench, 20 * step, 20);
        check_begun(&bench, 20, "20 jobs of a step, all done");
        ck_assert_msg(bench.worker.busy_seconds >= 20 * 200e-6,
                      "20 jobs of 200 us: expected busy_seconds of 0.004 or more, found %g",
                      bench.worker.busy_seconds);
    }
    worker_stop(&bench.worker);
    check_thread(&bench);
}
END_TEST

START_TEST(a_bucket_begins_before_the_next_is_submitted)
{
    struct bench bench;
    uv_sem_t gate, begun;
    uv_sem_init(&gate, 0);
    uv_sem_init(&begun, 0);
    bench_start(&bench);
    bench.gate = &gate;
    bench.begun = &begun;
    check_begun(&bench, 0, "nothing submitted");
    for (size_t i = 0; i < 3; i++) {
        worker_submit(&bench.worker, i);
        ck_assert_msg(begins(&begun), "job %zu: expected it begun before worker_wait, found it not",
                      i);
        check_begun(&bench, i + 1, "the latest job is under way");
        uv_sem_post(&gate);
    }
    check_wait(&bench, 0, "three jobs");
    worker_stop(&bench.worker);
    check_thread(&bench);
    uv_sem_destroy(&gate);
    uv_sem_destroy(&begun);
}
END_TEST

START_TEST(one_job_is_waited_for_while_the_next_is_still_to_come)
{
    static const size_t jobs[4] = {7, 3, 7, 200};
    struct bench bench;
    uv_sem_t gate, begun;
    uv_sem_init(&gate, 0);
    uv_sem_init(&begun, 0);
    bench_start(&bench);
    bench.gate = &gate;
    bench.begun = &begun;
    for (size_t i = 0; i < 4; i++)
        check_submit(&bench, jobs[i], i);
    for (size_t i = 0; i < 4; i++) {
        uv_sem_post(&gate);
        check_wait_for(&bench, i, 0, "its job may end"); // for ever, if it waited for more
        ck_assert_msg(bench.seen[i] == jobs[i], "number %zu: expected job %zu done, found %zu", i,
                      jobs[i], bench.seen[i]);
        check_wait_for(&bench, 0, 0, "its job is long done");
    }
    worker_stop(&bench.worker);
    check_thread(&bench);
    uv_sem_destroy(&gate);
    uv_sem_destroy(&begun);
}
END_TEST

START_TEST(waiting_for_nothing_returns_at_once)
{
    struct bench bench;
    bench_start(&bench);
    check_wait(&bench, 0, "nothing submitted");
    worker_reset(&bench.worker);
    check_wait(&bench, 0, "nothing submitted in a new step");
    worker_stop(&bench.worker);
    check_count(&bench, 0, "nothing submitted");
}
END_TEST

START_TEST(after_an_error_nothing_more_is_reduced)
{
    struct bench bench;
    bench_start(&bench);
    bench.fail_at = 2;
    for (size_t i = 0; i < 9; i++)
        worker_submit(&bench.worker, i);
    check_wait(&bench, -EPIPE, "job 2 of 9 fails");
    check_wait_for(&bench, 8, -EPIPE, "its job does not begin, after job 2 failed"); // not for ever
    check_count(&bench, 3, "job 2 of 9 fails");
    worker_submit(&bench.worker, 9);
    check_wait(&bench, -EPIPE, "one more, after job 2 failed");
    worker_reset(&bench.worker); // a new step does not forgive
    worker_submit(&bench.worker, 0);
    check_wait(&bench, -EPIPE, "a new step, after job 2 failed");
    check_count(&bench, 3, "a new step, after job 2 failed");
    worker_stop(&bench.worker);
}
END_TEST

/* By the time somebody waits nothing is left to wait for, and the error is to be told all the same. */
START_TEST(the_last_jobs_error_is_told_whenever_somebody_waits)
{
    struct bench bench;
    bench_start(&bench);
    bench.fail_at = 2;
    for (size_t i = 0; i < 3; i++)
        worker_submit(&bench.worker, i);
    if (_i == 0)
        check_wait(&bench, -EPIPE, "job 2 of 3, the last, fails");
    else
        check_wait_for(&bench, 2, -EPIPE, "job 2 of 3, the last, fails");
    check_wait(&bench, -EPIPE, "the last job failed, and is over");
    check_wait_for(&bench, 2, -EPIPE, "the last job failed, and is over");
    worker_stop(&bench.worker);
}
END_TEST

START_TEST(stopping_finishes_what_was_submitted)
{
    struct bench bench;
    bench_start(&bench);
    bench.delay = 1000;
    for (size_t i = 0; i < 5; i++)
        worker_submit(&bench.worker, i);
    worker_stop(&bench.worker);
    check_count(&bench, 5, "5 submitted, then worker_stop");
    check_order(&bench, 0, 5);
    worker_stop(&bench.worker); // a second time does nothing
}
END_TEST

START_TEST(stopping_after_an_error_does_not_wait_for_the_rest)
{
    struct bench bench;
    bench_start(&bench);
    bench.fail_at = 0;
    for (size_t i = 0; i < 5; i++)
        worker_submit(&bench.worker, i);
    worker_stop(&bench.worker);
    check_count(&bench, 1, "the first of 5 fails, then worker_stop");
}
END_TEST

START_TEST(a_zeroed_worker_can_be_stopped)
{
    struct worker worker = {0};
    worker_stop(&worker);
}
END_TEST

Suite *worker_suite(void)
{
    Suite *suite = suite_create("worker");
    TCase *tcase = tcase_create("thread");
    tcase_set_timeout(tcase, 12); // a wrong worker lets wait for ever
    tcase_add_test(tcase, buckets_are_reduced_in_order_by_another_thread);
    tcase_add_test(tcase, a_bucket_begins_before_the_next_is_submitted);
    tcase_add_test(tcase, one_job_is_waited_for_while_the_next_is_still_to_come);
    tcase_add_test(tcase, waiting_for_nothing_returns_at_once);
    tcase_add_test(tcase, after_an_error_nothing_more_is_reduced);
    tcase_add_loop_test(tcase, the_last_jobs_error_is_told_whenever_somebody_waits, 0, 2);
    tcase_add_test(tcase, stopping_finishes_what_was_submitted);
    tcase_add_test(tcase, stopping_after_an_error_does_not_wait_for_the_rest);
    tcase_add_test(tcase, a_zeroed_worker_can_be_stopped);
    suite_add_tcase(suite, tcase);
    return suite;
}
