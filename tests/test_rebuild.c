/* Buckets planned anew: in the order rank 0 saw, on every rank, once. */
#include "lesson03_ddp/rebuild.h"
#include "tests/lessons.h"
#include "tests/overlapped.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

enum { TENSORS = 6 };

/* fc1.weight is tensor 0, fc3.bias 5; a bucket holds a layer or less. */
static const char arguments[] =
    "--hidden 5,7 --batch 12 --accumulate 2 --steps 60 --first-bucket-kb 0.05 "
    "--bucket-kb 0.3";

/* A lesson 3 whose backward finishes tensors in an order of the test's: all are held back until the
 * last has come, then announced. */
struct bench {
    struct overlapped overlapped;
    const size_t *order; // (TENSORS)
    size_t came;
};

static void on_ready(void *context, size_t tensor)
{
    struct bench *bench = context;
    (void)tensor;
    if (++bench->came % TENSORS > 0)
        return;
    for (size_t i = 0; i < TENSORS; i++)
        bench->overlapped.ddp_hears.on_ready(bench->overlapped.ddp_hears.context, bench->order[i]);
}

static int bench_open(struct bench *bench, struct ranks_self *self)
{
    *bench = (struct bench){0};
    return overlapped_open(&bench->overlapped, self, arguments, on_ready, bench);
}

static int check_step(struct bench *bench, size_t index)
{
    struct step step = sampler_step(&bench->overlapped.run->sampler, index);
    return overlapped_check(&bench->overlapped, &step);
}

/* Is the plan the one of this order? */
static int check_plan(struct bench *bench, const size_t order[TENSORS])
{
    const struct options *options = &bench->overlapped.run->options;
    struct bucket_order wanted = {.count = TENSORS};
    struct bucket_plan plan;
    memcpy(wanted.tensors, order, TENSORS * sizeof *order);
    bucket_plan_make(&plan, &bench->overlapped.run->model, &wanted, options->first_bucket_bytes,
                     options->bucket_bytes);
    const size_t *found = bench->overlapped.ddp.plan.order.tensors;
    return ranks_expect(bench->overlapped.self, memcmp(found, order, TENSORS * sizeof *order) == 0,
                        "the order is not the one seen") ||
           ranks_expect(bench->overlapped.self,
                        bucket_plan_same(&bench->overlapped.ddp.plan, &plan),
                        "the buckets are not those of the order");
}

/* The last is what every other rank sees. */
static const size_t orders[][TENSORS] = {
    {5, 3, 4, 2, 1, 0}, // fc3.weight after fc2.bias, as if fc2 used it too
    {0, 1, 2, 3, 4, 5}, // the wrong way round
    {0, 2, 4, 1, 3, 5}, // no two neighbours
    {4, 5, 2, 3, 0, 1}, // swapped within layers
    {5, 4, 3, 2, 1, 0},
};
enum { ORDERS = sizeof orders / sizeof *orders };

static int adopt_body(struct ranks_self *self)
{
    const size_t *seen_by_0 = self->context;
    struct bench bench;
    int wrong = bench_open(&bench, self);
    bench.order = self->rank == 0 ? seen_by_0 : orders[ORDERS - 1];
    wrong = wrong || check_plan(&bench, orders[ORDERS - 1]) || check_step(&bench, 0) ||
            rebuild(&bench.overlapped.ddp, bench.overlapped.run) || check_plan(&bench, seen_by_0);
    for (size_t i = 1; i < 4 && !wrong; i++)
        wrong = check_step(&bench, i);
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(every_rank_plans_from_the_order_rank_0_saw)
{
    size_t order[TENSORS];
    struct ranks_result result;
    memcpy(order, orders[_i / 4], sizeof order);
    ranks_run(1 + _i % 4, adopt_body, order, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int once_body(struct ranks_self *self)
{
    struct bench bench;
    int wrong = bench_open(&bench, self);
    for (size_t i = 0; i < 3 && !wrong; i++) {
        bench.order = orders[i];
        wrong = check_step(&bench, i) || rebuild(&bench.overlapped.ddp, bench.overlapped.run) ||
                check_plan(&bench, orders[0]);
    }
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(buckets_are_rebuilt_once)
{
    struct ranks_result result;
    ranks_run(2, once_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* A rehearsal stands in for the first step of a resumed run. */
static int resumed_body(struct ranks_self *self)
{
    struct bench bench;
    struct ddp resumed = {0};
    int wrong = bench_open(&bench, self);
    bench.overlapped.run->trainer.listener =
        ddp_listener(&bench.overlapped.ddp); // backward's own order
    wrong = wrong || check_step(&bench, 0) || rebuild(&bench.overlapped.ddp, bench.overlapped.run);
    bench.overlapped.run->optimizer.updates = 1;
    wrong = wrong || inside_told(self, &bench.overlapped.inside,
                                 ddp_init(&resumed, bench.overlapped.run, self->comm));
    if (!wrong)
        wrong = ranks_expect(
            self, resumed.rebuilt && bucket_plan_same(&resumed.plan, &bench.overlapped.ddp.plan),
            "a resumed run has other buckets");
    ddp_stop(&resumed);
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(a_resumed_run_has_the_rebuilt_buckets_at_once)
{
    struct ranks_result result;
    ranks_run(2, resumed_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- what is said ---------------------------------------------------------------------------- */

static size_t times(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

START_TEST(a_run_says_once_that_nothing_changes)
{
    static const char words[] =
        "buckets: gradients became ready in the reverse order of registration, as planned: nothing "
        "changes";
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3, 3},
               _i == 0 ? "--steps 3" : "--steps 3 --quiet");
    ck_assert_int_eq(program.code, 0);
    ck_assert_uint_eq(times(program.out, words) + times(program.err, words), _i == 0 ? 1 : 0);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- a tied weight --------------------------------------------------------------------------- */

/* fc4.weight is final after fc2's backward only. */
static const char tied[] = "--hidden 8,8,8,8 --tie fc2=fc4 --batch 32 --first-bucket-kb 0.2 "
                           "--bucket-kb 1";

START_TEST(a_tied_weight_rebuilds_the_buckets_and_every_proof_holds)
{
    char text[256];
    struct folder folder;
    struct program program;
    struct lesson lesson = {3, 1 + _i % 4};
    folder_open(&folder);
    snprintf(text, sizeof text, "%s --steps 3 --verify 3 %s", tied, _i < 4 ? "" : "--no-overlap");
    ck_assert_uint_eq(lesson_ok(&folder, lesson, text), 4 * 3);
    lesson_run(&program, &folder, lesson, text);
    ck_assert_uint_eq(times(program.out, "buckets rebuilt in the order gradients became ready: "
                                         "fc3.bias was number 4, not fc4.weight; 4 of 9 tensors "
                                         "moved"),
                      1);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* By a ring over three ranks another cut is another sum. */
START_TEST(a_resumed_run_with_a_tied_weight_has_every_bit)
{
    char text[256];
    struct folder folder;
    folder_open(&folder);
    snprintf(text, sizeof text, "%s --steps 20 --save whole", tied);
    lesson_ok(&folder, (struct lesson){3, 3}, text);
    snprintf(text, sizeof text, "%s --steps 3 --save half", tied);
    lesson_ok(&folder, (struct lesson){3, 3}, text);
    snprintf(text, sizeof text, "%s --steps 20 --resume half --save rest", tied);
    lesson_ok(&folder, (struct lesson){3, 3}, text);
    lesson_saves_equal(&folder, "whole", "rest", "resumed");
    folder_close(&folder);
}
END_TEST

Suite *rebuild_suite(void)
{
    Suite *suite = suite_create("rebuild");
    TCase *tcase = tcase_create("orders");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_rank_plans_from_the_order_rank_0_saw, 0, 4 * ORDERS);
    tcase_add_test(tcase, buckets_are_rebuilt_once);
    tcase_add_test(tcase, a_resumed_run_has_the_rebuilt_buckets_at_once);
    tcase_add_loop_test(tcase, a_run_says_once_that_nothing_changes, 0, 2);
    tcase_add_loop_test(tcase, a_tied_weight_rebuilds_the_buckets_and_every_proof_holds, 0, 8);
    tcase_add_test(tcase, a_resumed_run_with_a_tied_weight_has_every_bit);
    suite_add_tcase(suite, tcase);
    return suite;
}
