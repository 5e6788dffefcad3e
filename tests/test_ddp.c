/* Buckets that leave during backward bring home the bits of buckets sent after it. */
#include "lesson03_ddp/ddp.h"
#include "common/rng.h"
#include "lesson01_single/layer.h"
#include "lesson01_single/optimizer.h"
#include "lesson02_allreduce/ring.h"
#include "lesson03_ddp/replicas.h"
#include "tests/overlapped.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NONE = MODEL_TENSORS_MOST, PATIENCE_MS = 60000 };

/* Five layers, a tensor or two in each bucket, two micro-batches. */
static const char many_buckets[] = "--hidden 5,7,3,6 --batch 12 --accumulate 2 --steps 60 "
                                   "--first-bucket-kb 0.01 --bucket-kb 0.1";

/* A lesson 3 whose backward the test interferes with. */
struct bench {
    struct overlapped overlapped;
    size_t swallowed;    // this tensor is never announced
    size_t miscounted;   // when this one is, its bucket has come to wait for one too many
    size_t held;         // before this one is announced, a bucket must be under way
    bool delayed;        // every announcement comes late,
    uint32_t latest_us;  // by less than this,
    struct rng delays;   // drawn from here
    uint32_t drawn;      // delays so far
    size_t begun_before; // buckets under way when `held` was announced
};

static void wait_for_a_bucket(struct bench *bench)
{
    for (int i = 0; i < PATIENCE_MS && bench->begun_before == 0; i++) {
        bench->begun_before = worker_begun(&bench->overlapped.ddp.worker);
        usleep(1000);
    }
}

static void on_ready(void *context, size_t tensor)
{
    struct bench *bench = context;
    if (bench->delayed)
        usleep((useconds_t)(rng_bits(&bench->delays, bench->drawn++) % bench->latest_us));
    if (tensor == bench->held)
        wait_for_a_bucket(bench);
    struct ddp *ddp = &bench->overlapped.ddp;
    if (tensor == bench->miscounted)
        ddp->missing[ddp->plan.of_tensor[tensor]]++;
    if (tensor != bench->swallowed)
        bench->overlapped.ddp_hears.on_ready(bench->overlapped.ddp_hears.context, tensor);
}

static int bench_open(struct bench *bench, struct ranks_self *self, const char *arguments)
{
    *bench = (struct bench){.swallowed = NONE, .miscounted = NONE, .held = NONE};
    bench->delays = (struct rng){.seed = (uint64_t)self->rank, .stream = RNG_TEST};
    return overlapped_open(&bench->overlapped, self, arguments, on_ready, bench);
}

/* Some steps, with an update by a plain rule between them so that gradients differ. */
static int check_steps(struct bench *bench, size_t steps)
{
    struct run *run = bench->overlapped.run;
    int wrong = 0;
    for (size_t i = 0; i < steps && !wrong; i++) {
        struct step step = sampler_step(&run->sampler, i);
        wrong = overlapped_check(&bench->overlapped, &step);
        for (size_t j = 0; j < run->model.count; j++)
            run->param[j] -= 0.05f * run->grad[j];
    }
    return wrong;
}

static int same_bits_body(struct ranks_self *self)
{
    struct bench bench;
    int wrong = bench_open(&bench, self, self->context);
    if (!wrong)
        wrong = check_steps(&bench, 8);
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(the_gradient_is_the_rings_bucket_by_bucket_bit_for_bit)
{
    static const char *const plans[] = {
        many_buckets,
        "--hidden 9 --batch 30",
        "--hidden none --batch 7 --first-bucket-kb 0.004",
        "--data synthetic --batch 5 --accumulate 3 --no-bias --bucket-kb 0.004",
    };
    char text[256];
    snprintf(text, sizeof text, "%s%s", plans[_i / 4], _i % 2 ? " --no-overlap" : "");
    struct ranks_result result;
    ranks_run(1 + _i % 4, same_bits_body, text, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- delays ---------------------------------------------------------------------------------- */

/* LONG=1 in the environment: up to 50 ms, in 200 steps. */
static bool is_long(void)
{
    const char *set = getenv("LONG");
    return set && strcmp(set, "1") == 0;
}

/* The same steps on every rank, each rank's tensors late at random: parameters in `param`. */
static int train(struct bench *bench, bool overlap, float *param)
{
    struct run *run = bench->overlapped.run;
    int error = 0;
    bench->overlapped.ddp.overlap = bench->delayed = overlap;
    bench->latest_us = is_long() ? 50000 : 5000;
    model_init_he(&run->model, run->param, 1);
    for (size_t i = 0; i < (is_long() ? 200 : 60) && !error; i++) {
        struct step step = sampler_step(&run->sampler, i);
        error = overlapped_gradient(&bench->overlapped, &step);
        for (size_t j = 0; j < run->model.count; j++)
            run->param[j] -= 0.05f * run->grad[j];
    }
    memcpy(param, run->param, run->model.count * sizeof *param);
    return error;
}

static int delays_body(struct ranks_self *self)
{
    float with[OVERLAPPED_COUNT_MOST], without[OVERLAPPED_COUNT_MOST];
    struct bench bench;
    int wrong = bench_open(&bench, self, many_buckets);
    if (!wrong)
        wrong = ranks_expect(self, bench.overlapped.ddp.plan.count > 4,
                             "expected more than 4 buckets, found %zu",
                             bench.overlapped.ddp.plan.count);
    if (!wrong)
        wrong = train(&bench, true, with);
    if (!wrong)
        wrong = train(&bench, false, without);
    if (!wrong)
        wrong = ranks_expect(
            self, memcmp(with, without, bench.overlapped.run->model.count * sizeof *with) == 0,
            "overlap changed the parameters");
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(random_delays_in_backward_change_no_bit_in_sixty_steps)
{
    struct ranks_result result;
    ranks_run(2 + _i, delays_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- the order of events --------------------------------------------------------------------- */

static int check_handed_over(struct bench *bench, size_t expected)
{
    size_t found = bench->overlapped.ddp.handed_over;
    return ranks_expect(bench->overlapped.self, found == expected,
                        "expected %zu buckets handed over while a gradient was missing, found %zu",
                        expected, found);
}

static int order_body(struct ranks_self *self)
{
    struct bench bench;
    int wrong = bench_open(&bench, self, many_buckets);
    struct step step = sampler_step(&bench.overlapped.run->sampler, 0);
    bench.held = 0; // fc1.weight, the last to be ready
    if (!wrong)
        wrong = overlapped_gradient(&bench.overlapped, &step);
    if (!wrong)
        wrong = ranks_expect(self, bench.begun_before > 0 && bench.overlapped.ddp.begun_at_end > 0,
                             "expected a bucket begun before backward ended, found %zu before "
                             "the last tensor and %zu at the end",
                             bench.begun_before, bench.overlapped.ddp.begun_at_end);
    if (!wrong) // all but fc1.weight's, the last
        wrong = check_handed_over(&bench, bench.overlapped.ddp.plan.count - 1);
    bench.held = NONE;
    bench.overlapped.ddp.overlap = false;
    if (!wrong)
        wrong = overlapped_gradient(&bench.overlapped, &step);
    if (!wrong)
        wrong =
            ranks_expect(self, bench.overlapped.ddp.begun_at_end == 0,
                         "--no-overlap: expected no bucket begun before backward ended, found %zu",
                         bench.overlapped.ddp.begun_at_end);
    if (!wrong)
        wrong = check_handed_over(&bench, 0);
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(the_first_bucket_leaves_before_backward_ends)
{
    struct ranks_result result;
    ranks_run(1 + _i, order_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- a tensor that gets no gradient ---------------------------------------------------------- */

/* fc3.weight is tensor 4. On every rank, or on the last one alone. */
static int swallowed_body(struct ranks_self *self)
{
    const bool *alone = self->context;
    struct bench bench;
    int error = bench_open(&bench, self, many_buckets);
    struct step step = sampler_step(&bench.overlapped.run->sampler, 0);
    if (!*alone || self->rank == self->world - 1)
        bench.swallowed = 4;
    if (!error)
        error = overlapped_gradient(&bench.overlapped, &step);
    overlapped_close(&bench.overlapped);
    return error == -EINVAL ? 22 : error ? 1 : 0;
}

/* fc1.weight, tensor 0, is the last to be ready, and in the last bucket. */
static int miscounted_body(struct ranks_self *self)
{
    struct bench bench;
    int error = bench_open(&bench, self, many_buckets);
    struct step step = sampler_step(&bench.overlapped.run->sampler, 0);
    bench.miscounted = 0;
    if (!error)
        error = overlapped_gradient(&bench.overlapped, &step);
    overlapped_close(&bench.overlapped);
    return error == -EINVAL ? 22 : error ? 1 : 0;
}

/* Each of two ranks finds it out by itself, unless the other's word comes before it has looked. */
static void check_found(const struct ranks_result *result, const char *words)
{
    int found = 0;
    for (int rank = 0; rank < 2; rank++) {
        found += result->code[rank] == 22;
        ck_assert_msg((result->code[rank] == 22 || result->code[rank] == 1) &&
                          strstr(result->text[rank], words),
                      "rank %d: expected 22 or 1, and \"%s\", found %d, \"%s\"", rank, words,
                      result->code[rank], result->text[rank]);
    }
    ck_assert_int_ge(found, 1);
}

START_TEST(a_tensor_never_announced_is_an_error_that_names_it)
{
    bool alone = false;
    struct ranks_result result;
    ranks_run(2, swallowed_body, &alone, &result);
    check_found(&result, "fc3.weight got no gradient");
    ranks_run(2, miscounted_body, NULL, &result); // nor is one named that was announced
    check_found(&result, "all gradients are ready, but bucket 7 of 8, which waits for 1 more, was "
                         "not handed over");
}
END_TEST

START_TEST(a_tensor_never_announced_on_one_rank_stops_the_others_too)
{
    bool alone = true;
    struct ranks_result result;
    ranks_run(3, swallowed_body, &alone, &result);
    ck_assert_msg(result.code[2] == 22 && strstr(result.text[2], "rank 2, step 0: fc3.weight"),
                  "rank 2: expected 22, and \"rank 2, step 0: fc3.weight\", found %d, \"%s\"",
                  result.code[2], result.text[2]);
    for (int rank = 0; rank < 2; rank++)
        ck_assert_msg(result.code[rank] == 1 &&
                          strstr(result.text[rank], "rank 2, step 0: fc3.weight got no gradient"),
                      "rank %d: expected 1, and rank 2's sentence, found %d, \"%s\"", rank,
                      result.code[rank], result.text[rank]);
}
END_TEST

/* --- replicas -------------------------------------------------------------------------------- */

static int replicas_body(struct ranks_self *self)
{
    float expected[OVERLAPPED_COUNT_MOST];
    struct bench bench;
    int wrong = bench_open(&bench, self, "--hidden 9");
    struct run *run = bench.overlapped.run;
    model_init_he(&run->model, run->param, (uint64_t)self->rank + 10); // every rank another seed
    model_init_he(&run->model, expected, 10);
    if (!wrong)
        wrong = inside_told(self, &bench.overlapped.inside, replicas_begin(run, self->comm));
    if (!wrong)
        wrong =
            ranks_expect(self, memcmp(run->param, expected, run->model.count * sizeof(float)) == 0,
                         "the parameters are not rank 0's");
    overlapped_close(&bench.overlapped);
    return wrong ? 1 : 0;
}

START_TEST(ranks_with_other_first_weights_begin_with_rank_0s)
{
    struct ranks_result result;
    ranks_run(1 + _i, replicas_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- one weight, used twice ------------------------------------------------------------------ */

/* Each use adds its part before anything is sent: twice reduced would be 11, twice updated -1.8. */
static int shared_body(struct ranks_self *self)
{
    static const float parts[2][2] = {{2, 3}, {6, 7}}, x = 1; // of each rank, of each use
    static const size_t widths[2] = {1, 1};
    const struct dense_shape one = {.rows = 1, .in = 1, .out = 1};
    struct options options = {.optimizer = OPTIMIZER_SGD};
    struct slice whole = {0, 1};
    struct memory memory = {0};
    struct optimizer optimizer;
    struct model model;
    float param = 0, grad = 0;
    for (int use = 0; use < 2; use++) {
        float dy = parts[self->rank][use] / 2; // weighted by 1 / world before it is added
        dense_backward_weight(&grad, &dy, &x, one);
    }
    model_plan(&model, widths, 1, false);
    int wrong = optimizer_init(&optimizer, &options, &model, &whole, 1, &memory) ||
                ring_allreduce(self->comm, &grad, &grad, 1, COMM_F32, COMM_SUM);
    if (!wrong)
        optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = 0.1f, .clip = 1});
    optimizer_release(&optimizer);
    return wrong || ranks_expect(self, grad == 9, "the gradient is %g", (double)grad) ||
           ranks_expect(self, param == -0.1f * 9, "the weight is %g", (double)param);
}

START_TEST(a_weight_used_twice_is_reduced_and_updated_once)
{
    struct ranks_result result;
    ranks_run(2, shared_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *ddp_suite(void)
{
    Suite *suite = suite_create("ddp");
    TCase *tcase = tcase_create("gradients");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_gradient_is_the_rings_bucket_by_bucket_bit_for_bit, 0, 16);
    tcase_add_loop_test(tcase, random_delays_in_backward_change_no_bit_in_sixty_steps, 0, 2);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("announcements");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_first_bucket_leaves_before_backward_ends, 0, 4);
    tcase_add_test(tcase, a_tensor_never_announced_is_an_error_that_names_it);
    tcase_add_test(tcase, a_tensor_never_announced_on_one_rank_stops_the_others_too);
    tcase_add_loop_test(tcase, ranks_with_other_first_weights_begin_with_rank_0s, 0, 4);
    tcase_add_test(tcase, a_weight_used_twice_is_reduced_and_updated_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
