/* The communication thread: strictly in order, errors stop it, and it always ends. */
#include "lesson03_ddp/worker.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <unistd.h>

enum { SEEN_MOST = 256, NO_FAILURE = SEEN_MOST };

/* What the worker was asked to do. Written by its thread, read once it was waited for. */
struct bench {
    struct worker worker;
    uv_thread_t caller;
    size_t seen[SEEN_MOST], count;
    size_t fail_at;         // this job fails
    useconds_t delay;       // each takes so long
    bool same_thread;       // something ran in the caller's thread
    uv_sem_t *gate, *begun; // a job waits at the gate, when there is one
};

static int work(void *context, size_t job)
{
    struct bench *bench = context;
    uv_thread_t self = uv_thread_self();
    bench->same_thread |= uv_thread_equal(&self, &bench->caller) != 0;
    bench->seen[bench->count++] = job;
    if (bench->gate) {
        uv_sem_post(bench->begun);
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

static void check_order(const struct bench *bench, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(bench->seen[first + i], i);
}

START_TEST(buckets_are_reduced_in_order_by_another_thread)
{
    struct bench bench;
    bench_start(&bench);
    bench.delay = 200;
    for (size_t step = 0; step < 3; step++) {
        worker_reset(&bench.worker);
        for (size_t i = 0; i < 20; i++)
            worker_submit(&bench.worker, i);
        ck_assert_int_eq(worker_wait(&bench.worker), 0);
        ck_assert_uint_eq(bench.count, 20 * (step + 1));
        check_order(&bench, 20 * step, 20);
        ck_assert_uint_eq(worker_begun(&bench.worker), 20);
        ck_assert(bench.worker.busy_seconds >= 20 * 200e-6);
    }
    ck_assert(!bench.same_thread);
    worker_stop(&bench.worker);
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
    ck_assert_uint_eq(worker_begun(&bench.worker), 0);
    for (size_t i = 0; i < 3; i++) {
        worker_submit(&bench.worker, i);
        uv_sem_wait(&begun); // would wait for ever if nothing began before worker_wait
        ck_assert_uint_eq(worker_begun(&bench.worker), i + 1);
        uv_sem_post(&gate);
    }
    ck_assert_int_eq(worker_wait(&bench.worker), 0);
    worker_stop(&bench.worker);
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
        ck_assert_uint_eq(worker_submit(&bench.worker, jobs[i]), i);
    for (size_t i = 0; i < 4; i++) {
        uv_sem_post(&gate);
        ck_assert_int_eq(worker_wait_for(&bench.worker, i), 0); // for ever, if it waited for more
        ck_assert_uint_eq(bench.seen[i], jobs[i]);
        ck_assert_int_eq(worker_wait_for(&bench.worker, 0), 0); // long done
    }
    worker_stop(&bench.worker);
    uv_sem_destroy(&gate);
    uv_sem_destroy(&begun);
}
END_TEST

START_TEST(waiting_for_nothing_returns_at_once)
{
    struct bench bench;
    bench_start(&bench);
    ck_assert_int_eq(worker_wait(&bench.worker), 0);
    worker_reset(&bench.worker);
    ck_assert_int_eq(worker_wait(&bench.worker), 0);
    worker_stop(&bench.worker);
    ck_assert_uint_eq(bench.count, 0);
}
END_TEST

START_TEST(after_an_error_nothing_more_is_reduced)
{
    struct bench bench;
    bench_start(&bench);
    bench.fail_at = 2;
    for (size_t i = 0; i < 9; i++)
        worker_submit(&bench.worker, i);
    ck_assert_int_eq(worker_wait(&bench.worker), -EPIPE);
    ck_assert_uint_eq(bench.count, 3);
    worker_submit(&bench.worker, 9);
    ck_assert_int_eq(worker_wait(&bench.worker), -EPIPE);
    worker_reset(&bench.worker); // a new step does not forgive
    worker_submit(&bench.worker, 0);
    ck_assert_int_eq(worker_wait(&bench.worker), -EPIPE);
    ck_assert_uint_eq(bench.count, 3);
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
    ck_assert_uint_eq(bench.count, 5);
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
    ck_assert_uint_eq(bench.count, 1);
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
    tcase_add_test(tcase, buckets_are_reduced_in_order_by_another_thread);
    tcase_add_test(tcase, a_bucket_begins_before_the_next_is_submitted);
    tcase_add_test(tcase, one_job_is_waited_for_while_the_next_is_still_to_come);
    tcase_add_test(tcase, waiting_for_nothing_returns_at_once);
    tcase_add_test(tcase, after_an_error_nothing_more_is_reduced);
    tcase_add_test(tcase, stopping_finishes_what_was_submitted);
    tcase_add_test(tcase, stopping_after_an_error_does_not_wait_for_the_rest);
    tcase_add_test(tcase, a_zeroed_worker_can_be_stopped);
    suite_add_tcase(suite, tcase);
    return suite;
}
