/* The model of a step's time, against times worked out by hand; and the lab that asks it. */
#include "lesson03_ddp/bucketmodel.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_MOST = 4, BUCKETS_MOST = 128 };

static const struct {
    double ready[PIECES_MOST], takes[PIECES_MOST];
    size_t count;
    double done;
} pipelines[] = {
    {{0}, {0}, 0, 0},
    {{2}, {3}, 1, 5},
    {{1, 2, 5}, {3, 1, 1}, 3, 6},        // 1-4, 4-5, 5-6: never idle
    {{1, 5, 6}, {1, 1, 2}, 3, 8},        // 1-2, 5-6, 6-8: it waits once
    {{4, 1, 2, 3}, {1, 1, 1, 1}, 4, 8},  // the first is late, and all behind it
    {{1, 2, 3, 4}, {0, 0, 0, 10}, 4, 14} // the last is large
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

START_TEST(a_pipeline_ends_when_worked_out_by_hand)
{
    double done =
        bucketmodel_pipeline(pipelines[_i].ready, pipelines[_i].takes, pipelines[_i].count);
    ck_assert_double_eq(done, pipelines[_i].done);
}
END_TEST

/* 3-4-2: fc1.weight 48 bytes, fc1.bias 16, fc2.weight 32, fc2.bias 8. By a ring over 2 ranks n bytes
 * take 2 alpha + n beta: with alpha 1 s and beta 1/8 s, 2 + n / 8. */
static const double ready[] = {12, 11, 2, 1};
static const struct {
    const char *why;
    size_t first_bytes, bytes; // caps
    bool overlap;
    double comm, exposed;
} times[] = {
    {"a bucket per layer: 2-9, 12-22", 40, 64, true, 17, 10},
    {"after backward: 12-19, 19-29", 40, 64, false, 17, 17},
    {"three tensors and one: 11-20, 20-28", 64, 64, true, 17, 16},
    {"all at once: 12-27", 104, 0, true, 15, 15},
    {"each by itself: 1-4, 4-10, 11-15, 15-23", 0, 0, true, 21, 11},
    {"each after backward", 0, 0, false, 21, 21},
};
enum { TIMES = sizeof times / sizeof *times };

static struct bucketmodel small_model(void)
{
    return (struct bucketmodel){.ready_seconds = ready,
                                .backward_seconds = 12,
                                .link = {.alpha_seconds = 1, .beta_seconds = 0.125},
                                .choice = choice_fixed(ALGORITHM_RING),
                                .world = 2};
}

START_TEST(a_plan_takes_the_time_worked_out_by_hand)
{
    static const size_t widths[] = {3, 4, 2};
    struct bucketmodel model = small_model();
    struct model network;
    struct bucket_plan plan;
    model_plan(&network, widths, 2, true);
    struct bucket_order order = bucket_order_reverse(&network);
    bucket_plan_make(&plan, &network, &order, times[_i].first_bytes, times[_i].bytes);
    model.overlap = times[_i].overlap;
    struct bucketmodel_times found = bucketmodel_predict(&model, &plan);
    ck_assert_msg(
        found.comm_seconds == times[_i].comm && found.exposed_seconds == times[_i].exposed,
        "%s: %g s, %g s exposed", times[_i].why, found.comm_seconds, found.exposed_seconds);
}
END_TEST

START_TEST(what_ends_before_backward_is_not_exposed)
{
    static const size_t widths[] = {3, 2};
    struct bucketmodel model = small_model();
    struct model network;
    struct bucket_plan plan;
    model_plan(&network, widths, 1, true);
    struct bucket_order order = {1, {1}}; // the bias alone takes part
    bucket_plan_make(&plan, &network, &order, 0, 0);
    model.backward_seconds = 20;
    model.overlap = true; // 11-14
    struct bucketmodel_times found = bucketmodel_predict(&model, &plan);
    ck_assert(found.comm_seconds == 3 && found.exposed_seconds == 0);
    order.count = 0;
    bucket_plan_make(&plan, &network, &order, 0, 0);
    found = bucketmodel_predict(&model, &plan);
    ck_assert(found.comm_seconds == 0 && found.exposed_seconds == 0);
}
END_TEST

/* A backward of 1 s, a network that needs 3 s and `latency` more for each of N equal buckets. */
static double seconds_with(size_t buckets, double latency)
{
    double when[BUCKETS_MOST], takes[BUCKETS_MOST];
    for (size_t i = 0; i < buckets; i++) {
        when[i] = (double)(i + 1) / (double)buckets;
        takes[i] = latency + 3 / (double)buckets;
    }
    return bucketmodel_pipeline(when, takes, buckets);
}

START_TEST(the_closed_form_is_the_pipelines_minimum)
{
    static const size_t best[] = {2, 5, 10, 50};
    double latency = 1 / (double)(best[_i] * best[_i]);
    for (size_t buckets = 1; buckets < BUCKETS_MOST; buckets++)
        ck_assert(buckets == best[_i] ||
                  seconds_with(buckets, latency) > seconds_with(best[_i], latency));
    ck_assert_double_eq_tol(bucketmodel_best_bytes(1000, latency, 1), 1000 / (double)best[_i],
                            1e-9);
}
END_TEST

/* --- the lab --------------------------------------------------------------------------------- */

static size_t times_in(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

START_TEST(the_lab_prints_and_writes_a_row_for_every_plan)
{
    char command[512];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1 LAB_FILE=numbers.csv; \"$LAUNCH\" -n %d "
             "\"${LAUNCH%%/*}/lab_buckets\" --quiet --hidden 99,66 --batch 32 %s && "
             "cat numbers.csv",
             2 + _i, _i ? "--link 1gbit,0.1ms" : "");
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    static const char *const names[] = {"naive: ", "flat: ", "each tensor as",
                                        "16 KiB",  "32 KiB", "one bucket for all"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(times_in(program.out, names[i]) >= 2, "%s: %s", names[i], program.out);
    ck_assert_uint_eq(times_in(program.out, "64 KiB |"), 0); // holds all, as the last does
    ck_assert_uint_eq(times_in(program.out, "64 KiB,"), 0);
    ck_assert_uint_eq(times_in(program.out, "by the model"), _i ? 1 : 0);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(the_lab_needs_two_ranks)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "exec \"${LAUNCH%/*}/lab_buckets\" --quiet");
    ck_assert_int_eq(program.code, 1);
    ck_assert_ptr_nonnull(strstr(program.err, "nothing is sent by one rank"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *bucketmodel_suite(void)
{
    Suite *suite = suite_create("bucketmodel");
    TCase *tcase = tcase_create("times");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_pipeline_ends_when_worked_out_by_hand, 0, PIPELINES);
    tcase_add_loop_test(tcase, a_plan_takes_the_time_worked_out_by_hand, 0, TIMES);
    tcase_add_test(tcase, what_ends_before_backward_is_not_exposed);
    tcase_add_loop_test(tcase, the_closed_form_is_the_pipelines_minimum, 0, 4);
    tcase_add_loop_test(tcase, the_lab_prints_and_writes_a_row_for_every_plan, 0, 2);
    tcase_add_test(tcase, the_lab_needs_two_ranks);
    suite_add_tcase(suite, tcase);
    return suite;
}
