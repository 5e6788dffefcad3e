/* A pool's buffers: whose is whose, who waits for whom, and no step skipped. */
#include "lesson04_zero/pool.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <signal.h>

static int work(void *context, size_t job)
{
    uv_sem_t *gate = context;
    uv_sem_wait(gate);
    return job == 99 ? -EPIPE : 0;
}

/* A plan of buckets of these sizes; ends in 0. */
static struct bucket_plan buckets_of(const size_t *counts)
{
    struct bucket_plan plan = {0};
    for (; counts[plan.count]; plan.count++)
        plan.buckets[plan.count].slice.count = counts[plan.count];
    return plan;
}

/* Who meets whom, in bits. */
struct plan_row {
    const char *why;
    size_t counts[6];
    script_buckets meets[5], among;
    size_t rooms[6], of_bucket[5];
};

static const struct plan_row rows[] = {
    {"nobody meets", {5, 9, 7}, {1, 2, 4}, 7, {9}, {0, 0, 0}},
    {"all meet", {5, 9, 7}, {7, 7, 7}, 7, {9, 7, 5}, {2, 0, 1}},
    {"neighbours meet, weights and biases",
     {90, 4, 80, 3, 70},
     {3, 7, 14, 28, 24},
     31,
     {90, 4},
     {0, 1, 0, 1, 0}},
    {"and those next but one",
     {90, 4, 80, 3, 70},
     {7, 15, 31, 30, 28},
     31,
     {90, 80, 4, 3},
     {0, 2, 1, 3, 0}},
    {"one of the three takes no part", {5, 9, 7}, {7, 7, 7}, 5, {7, 5}, {1, 0, 0}},
    {"none takes part", {5, 9}, {3, 3}, 0, {0}, {0, 0}},
    {"equal ones, the first first", {8, 8, 8}, {3, 7, 6}, 7, {8, 8}, {0, 1, 0}},
};
enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(buckets_that_meet_have_buffers_of_their_own)
{
    const struct plan_row *row = &rows[_i];
    struct bucket_plan buckets = buckets_of(row->counts);
    struct pool_plan plan;
    size_t count = 0;
    pool_plan_make(&plan, &buckets, row->among, row->meets);
    for (; row->rooms[count]; count++)
        ck_assert_msg(plan.rooms[count] == row->rooms[count], "%s: room %zu", row->why, count);
    ck_assert_msg(plan.count == count, "%s: %zu buffers", row->why, plan.count);
    for (size_t i = 0; i < buckets.count; i++)
        ck_assert_msg(plan.of_bucket[i] == row->of_bucket[i], "%s: bucket %zu", row->why, i);
}
END_TEST

/* A pool over a worker whose jobs each wait at the gate. Buckets 0 and 2 share a buffer. */
struct bench {
    struct ddp ddp;
    struct pool pool;
    struct memory memory;
    uv_sem_t gate;
};

static void bench_open(struct bench *bench)
{
    static const struct pool_plan plan = {2, {100, 40}, {0, 1, 0}};
    *bench = (struct bench){0};
    uv_sem_init(&bench->gate, 0);
    ck_assert_int_eq(worker_start(&bench->ddp.worker, work, &bench->gate), 0);
    ck_assert_int_eq(pool_init(&bench->pool, &bench->ddp, &plan, &bench->memory), 0);
    ck_assert_uint_eq(bench->memory.now_bytes[MEMORY_BUFFERS], 140 * sizeof(float));
}

static void bench_close(struct bench *bench)
{
    worker_stop(&bench->ddp.worker);
    pool_release(&bench->pool);
    ck_assert_uint_eq(bench->memory.now_bytes[MEMORY_BUFFERS], 0);
    uv_sem_destroy(&bench->gate);
}

START_TEST(a_buffer_under_way_with_another_bucket_is_waited_for)
{
    struct bench bench;
    bench_open(&bench);
    struct pool_buffer *first = pool_take(&bench.pool, 0), *second = pool_take(&bench.pool, 1);
    ck_assert_ptr_ne(first, second);
    pool_hand_over(first, worker_submit(&bench.ddp.worker, 0));
    pool_hand_over(second, worker_submit(&bench.ddp.worker, 1));
    uv_sem_post(&bench.gate); // one job ends; to wait for the other would be for ever
    ck_assert_ptr_eq(pool_take(&bench.pool, 2), first);
    ck_assert_int_eq(first->state, POOL_FILLING);
    uv_sem_post(&bench.gate);
    ck_assert_int_eq(pool_await(&bench.pool, second), 0);
    ck_assert_int_eq(second->state, POOL_FILLING);
    pool_give_back(second);
    ck_assert_int_eq(second->state, POOL_FREE);
    bench_close(&bench);
}
END_TEST

START_TEST(after_a_failure_nobody_waits)
{
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < 2; i++)
        pool_hand_over(pool_take(&bench.pool, i), worker_submit(&bench.ddp.worker, 99));
    uv_sem_post(&bench.gate); // the first fails, and the other is never begun
    ck_assert_int_eq(pool_await(&bench.pool, &bench.pool.buffers[1]), -EPIPE);
    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(pool_take(&bench.pool, i));
    bench_close(&bench);
}
END_TEST

/* Gives a buffer back that nobody took, or hands it over, or waits for it, or takes it twice. */
START_TEST(a_step_that_is_left_out_is_a_mistake_of_ours)
{
    struct bench bench;
    bench_open(&bench);
    if (_i == 0)
        pool_give_back(&bench.pool.buffers[0]);
    else if (_i == 1)
        pool_hand_over(&bench.pool.buffers[0], 0);
    else if (_i == 2)
        pool_await(&bench.pool, pool_take(&bench.pool, 1));
    else if (pool_take(&bench.pool, 0))
        pool_take(&bench.pool, 2); // in the buffer that bucket 0 is being filled in
}
END_TEST

Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_loop_test(tcase, buckets_that_meet_have_buffers_of_their_own, 0, ROWS);
    tcase_add_test(tcase, a_buffer_under_way_with_another_bucket_is_waited_for);
    tcase_add_test(tcase, after_a_failure_nobody_waits);
    tcase_add_loop_test_raise_signal(tcase, a_step_that_is_left_out_is_a_mistake_of_ours, SIGABRT,
                                     0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
