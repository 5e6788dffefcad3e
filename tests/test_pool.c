/* A pool's buffers: the smallest that will do, the oldest when none is free, and no step skipped. */
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

/* A pool over a worker whose jobs each wait at the gate. */
struct bench {
    struct ddp ddp;
    struct pool pool;
    struct memory memory;
    uv_sem_t gate;
};

static void bench_open(struct bench *bench, const size_t *rooms, size_t count)
{
    *bench = (struct bench){0};
    uv_sem_init(&bench->gate, 0);
    ck_assert_int_eq(worker_start(&bench->ddp.worker, work, &bench->gate), 0);
    ck_assert_int_eq(pool_init(&bench->pool, &bench->ddp, rooms, count, &bench->memory), 0);
}

static void bench_close(struct bench *bench)
{
    worker_stop(&bench->ddp.worker);
    pool_release(&bench->pool);
    ck_assert_uint_eq(bench->memory.now_bytes[MEMORY_BUFFERS], 0);
    uv_sem_destroy(&bench->gate);
}

static const size_t rooms[3] = {100, 10, 40};

START_TEST(the_smallest_buffer_with_room_enough_is_taken)
{
    static const size_t wants[3] = {11, 1, 90}, given[3] = {40, 10, 100};
    struct bench bench;
    bench_open(&bench, rooms, 3);
    ck_assert_uint_eq(bench.memory.now_bytes[MEMORY_BUFFERS], 150 * sizeof(float));
    for (size_t i = 0; i < 3; i++) {
        struct pool_buffer *buffer = pool_take(&bench.pool, wants[i]);
        ck_assert_uint_eq(buffer->room, given[i]);
        ck_assert_int_eq(buffer->state, POOL_FILLING);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(with_none_free_the_one_handed_over_first_is_waited_for)
{
    static const size_t alike[2] = {8, 8};
    struct bench bench;
    bench_open(&bench, alike, 2);
    struct pool_buffer *first = pool_take(&bench.pool, 8), *second = pool_take(&bench.pool, 8);
    pool_hand_over(first, worker_submit(&bench.ddp.worker, 0));
    pool_hand_over(second, worker_submit(&bench.ddp.worker, 1));
    uv_sem_post(&bench.gate); // one job ends; to wait for the other would be for ever
    ck_assert_ptr_eq(pool_take(&bench.pool, 8), first);
    uv_sem_post(&bench.gate);
    ck_assert_int_eq(pool_await(&bench.pool, second), 0);
    ck_assert_int_eq(second->state, POOL_FILLING);
    pool_give_back(first);
    ck_assert_ptr_eq(pool_take(&bench.pool, 8), first);
    bench_close(&bench);
}
END_TEST

START_TEST(after_a_failure_nobody_waits)
{
    struct bench bench;
    bench_open(&bench, rooms, 3);
    struct pool_buffer *buffers[3];
    for (size_t i = 0; i < 3; i++) {
        buffers[i] = pool_take(&bench.pool, 10);
        pool_hand_over(buffers[i], worker_submit(&bench.ddp.worker, 99));
    }
    uv_sem_post(&bench.gate); // the first fails, and the others are never begun
    ck_assert_int_eq(pool_await(&bench.pool, buffers[2]), -EPIPE);
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(pool_take(&bench.pool, 10));
    bench_close(&bench);
}
END_TEST

/* Gives a buffer back, or hands it over, that nobody took. */
START_TEST(a_step_that_is_left_out_is_a_mistake_of_ours)
{
    struct bench bench;
    bench_open(&bench, rooms, 3);
    if (_i == 0)
        pool_give_back(&bench.pool.buffers[0]);
    else if (_i == 1)
        pool_hand_over(&bench.pool.buffers[0], 0);
    else
        pool_await(&bench.pool, pool_take(&bench.pool, 1));
}
END_TEST

Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_test(tcase, the_smallest_buffer_with_room_enough_is_taken);
    tcase_add_test(tcase, with_none_free_the_one_handed_over_first_is_waited_for);
    tcase_add_test(tcase, after_a_failure_nobody_waits);
    tcase_add_loop_test_raise_signal(tcase, a_step_that_is_left_out_is_a_mistake_of_ours, SIGABRT,
                                     0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
