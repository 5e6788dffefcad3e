/* Shares of a step add up to the step, for any world; nothing averages averages. */
#include "lesson01_single/trainer.h"
#include "common/compare.h"
#include "lesson01_single/bound.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { WORLD_MOST = 7, COUNT_MOST = 1024, ROWS = 64 };

/* All a trainer needs, in one place. */
struct bench {
    struct options options;
    struct memory memory;
    struct model model;
    struct dataset train, test;
    struct sampler sampler;
    struct trainer trainer;
    float param[COUNT_MOST], grad[COUNT_MOST];
    struct fail fail;
};

static void bench_trainer(struct bench *bench, size_t rank, size_t world,
                          struct model_listener listener)
{
    struct trainer like = {
        .model = &bench->model,
        .dataset = &bench->train,
        .sampler = &bench->sampler,
        .rank = rank,
        .world = world,
        .param = bench->param,
        .grad = bench->grad,
        .listener = listener,
    };
    ck_assert_int_eq(trainer_init(&bench->trainer, &like, ROWS, &bench->memory), 0);
}

static struct options options_for(const char *data, size_t batch, size_t accumulate)
{
    return (struct options){
        .data = data,
        .epochs = 1,
        .batch = batch,
        .accumulate = accumulate,
        .seed = 1,
        .shuffle = true,
    };
}

/* A model with one hidden layer for a data set that ships with the course. */
static void bench_load(struct bench *bench, const struct options *options, size_t hidden)
{
    *bench = (struct bench){.options = *options};
    int code = dataset_load(&bench->train, &bench->test, options, &bench->memory, &bench->fail);
    ck_assert_msg(code == 0, "%s", bench->fail.text);
    size_t widths[3] = {bench->train.width, hidden, bench->train.outputs};
    model_plan(&bench->model, widths, 2, true);
    ck_assert_uint_le(bench->model.count, COUNT_MOST);
    model_init_he(&bench->model, bench->param, 1);
    code = sampler_init(&bench->sampler, bench->train.count, options, &bench->memory, &bench->fail);
    ck_assert_msg(code == 0, "%s", bench->fail.text);
}

/* A linear model y = w x without a bias, on the regression samples given. */
static void bench_line(struct bench *bench, float *x, float *t, size_t count, float w)
{
    static const size_t widths[2] = {1, 1};
    *bench = (struct bench){.options = options_for("", count, 1)};
    bench->options.shuffle = false;
    bench->train = (struct dataset){.count = count, .width = 1, .outputs = 1, .features = x};
    bench->train.targets = t;
    bench->train.task = TASK_REGRESS;
    model_plan(&bench->model, widths, 1, false);
    bench->param[0] = w;
    ck_assert_int_eq(
        sampler_init(&bench->sampler, count, &bench->options, &bench->memory, &bench->fail), 0);
}

static void bench_release(struct bench *bench)
{
    trainer_release(&bench->trainer);
    sampler_release(&bench->sampler);
    if (bench->train.memory) {
        dataset_release(&bench->train);
        dataset_release(&bench->test);
    }
    for (size_t use = 0; use < MEMORY_USES; use++)
        ck_assert_uint_eq(bench->memory.now_bytes[use], 0);
}

static const struct model_listener nobody = {0};

/* Adds up the shares of every rank of a world, in the order of the ranks. */
static void sum_of_shares(struct bench *bench, const struct step *step, size_t world, float *sum)
{
    size_t samples = 0;
    memset(sum, 0, bench->model.count * sizeof *sum);
    for (size_t rank = 0; rank < world; rank++) {
        bench_trainer(bench, rank, world, nobody);
        trainer_gradient(&bench->trainer, step);
        for (size_t i = 0; i < bench->model.count; i++)
            sum[i] += bench->grad[i];
        samples += bench->trainer.samples;
        trainer_release(&bench->trainer);
    }
    ck_assert_uint_eq(samples, step->samples.count);
}

/* y = w x, w = 0.5, target 0, x = 1, 2 on rank 0 and 3, 4 on rank 1. */
START_TEST(two_ranks_give_shares_that_sum_to_the_mean)
{
    static const float share[2] = {1.25f, 6.25f}; // local means would be 2.5 and 12.5
    float x[4] = {1, 2, 3, 4}, t[4] = {0}, sum = 0;
    struct bench bench;
    bench_line(&bench, x, t, 4, 0.5f);
    struct step step = sampler_step(&bench.sampler, 0);
    for (size_t rank = 0; rank < 2; rank++) {
        bench_trainer(&bench, rank, 2, nobody);
        trainer_gradient(&bench.trainer, &step);
        ck_assert(bench.grad[0] == share[rank]);
        ck_assert_uint_eq(bench.trainer.samples, 2);
        ck_assert(bench.trainer.loss == (rank == 0 ? 1.25 : 6.25)); // w^2 (1 + 4), w^2 (9 + 16)
        sum += bench.grad[0];
        trainer_release(&bench.trainer);
    }
    ck_assert(sum == 7.5f);
    ck_assert(bench.param[0] - 0.1f * sum == -0.25f);
    bench_release(&bench);
}
END_TEST

/* Four samples in micro-batches of 1 and 3 weigh what they weigh in one batch. */
START_TEST(a_short_micro_batch_weighs_its_samples)
{
    float x[4] = {1, 1, 1, 1}, t[4] = {sqrtf(2), 1, 1, 1};
    struct bench bench;
    bench_line(&bench, x, t, 4, 0);
    sampler_release(&bench.sampler);
    bench.options.batch = 3;
    bench.options.accumulate = 2; // 3 samples, then 1
    ck_assert_int_eq(sampler_init(&bench.sampler, 4, &bench.options, &bench.memory, &bench.fail),
                     0);
    bench_trainer(&bench, 0, 1, nobody);
    struct step step = sampler_step(&bench.sampler, 0);
    ck_assert_uint_eq(sampler_micro_batches(&bench.sampler, &step), 2);
    trainer_gradient(&bench.trainer, &step);
    ck_assert(fabs(bench.trainer.loss / (double)bench.trainer.samples - 1.25) < 1e-6);
    ck_assert(fabs((double)bench.grad[0] + 2 * (sqrt(2) + 3) / 4) < 1e-6);
    bench_release(&bench);
}
END_TEST

/* Target t with y = 0 has the loss t^2. */
static void repeat(float *t, size_t begin, size_t count, double loss)
{
    for (size_t i = begin; i < begin + count; i++)
        t[i] = (float)sqrt(loss);
}

START_TEST(evaluation_counts_every_sample_once_in_a_short_last_batch_too)
{
    float x[130] = {0}, t[130];
    repeat(t, 0, 64, 0.4);
    repeat(t, 64, 64, 0.6);
    repeat(t, 128, 2, 2.0);
    struct bench bench;
    bench_line(&bench, x, t, 130, 1);
    bench_trainer(&bench, 0, 1, nobody); // room for 64
    struct totals totals =
        trainer_evaluate(&bench.trainer, &bench.train, (struct slice){.begin = 0, .count = 130});
    ck_assert_uint_eq(totals.samples, 130);
    ck_assert(fabs(totals.loss / 130 - 68.0 / 130) < 1e-6); // 0.5231; the means' mean is 1
    bench_release(&bench);
}
END_TEST

START_TEST(totals_of_uneven_parts_add_up_to_the_weighted_mean)
{
    float x[40] = {0}, t[40];
    repeat(t, 0, 30, 0.2);
    repeat(t, 30, 10, 1.0);
    struct bench bench;
    bench_line(&bench, x, t, 40, 1);
    bench_trainer(&bench, 0, 1, nobody);
    struct totals a = trainer_evaluate(&bench.trainer, &bench.train, (struct slice){0, 30});
    struct totals b = trainer_evaluate(&bench.trainer, &bench.train, (struct slice){30, 10});
    struct totals none = trainer_evaluate(&bench.trainer, &bench.train, (struct slice){40, 0});
    ck_assert(fabs((a.loss + b.loss) / (double)(a.samples + b.samples) - 0.4) < 1e-6);
    ck_assert(none.samples == 0 && none.loss == 0 && none.correct == 0);
    struct totals more =
        trainer_evaluate_in(&bench.trainer, &bench.train, (struct slice){0, 30}, 9);
    ck_assert(more.samples == 30 && more.loss == a.loss);
    bench_release(&bench);
}
END_TEST

START_TEST(evaluation_in_any_parts_counts_the_same_hits)
{
    struct options options = options_for("digits", 64, 1);
    struct bench bench;
    bench_load(&bench, &options, 5);
    bench_trainer(&bench, 0, 1, nobody);
    struct slice all = {0, bench.test.count};
    struct totals whole = trainer_evaluate(&bench.trainer, &bench.test, all), sum = {0};
    for (size_t part = 0; part < 7; part++) {
        struct totals some =
            trainer_evaluate(&bench.trainer, &bench.test, slice_of(all.count, 7, part));
        sum.correct += some.correct;
        sum.samples += some.samples;
        sum.loss += some.loss;
    }
    ck_assert_uint_eq(whole.samples, all.count);
    ck_assert_uint_eq(sum.samples, whole.samples);
    ck_assert_uint_eq(sum.correct, whole.correct);
    ck_assert_uint_le(whole.correct, whole.samples);
    ck_assert(fabs(sum.loss - whole.loss) < 1e-5 * whole.loss);
    bench_release(&bench);
}
END_TEST

/* Small dyadic rationals: every sum is exact, so no order of addition shows. The model is linear
 * and its weights are dyadic too; 64 samples make the weight of each a power of two. */
START_TEST(shares_of_the_dyadic_set_sum_to_the_same_bits)
{
    struct options options = options_for("synthetic", 32, 2);
    struct bench bench;
    bench_load(&bench, &options, 1);
    size_t widths[2] = {bench.train.width, bench.train.outputs};
    model_plan(&bench.model, widths, 1, true);
    for (size_t i = 0; i < bench.model.count; i++)
        bench.param[i] = (float)(i % 5) / 4 - 0.5f;
    struct step step = sampler_step(&bench.sampler, 1);
    float whole[COUNT_MOST], sum[COUNT_MOST];
    sum_of_shares(&bench, &step, 1, whole);
    sum_of_shares(&bench, &step, (size_t)_i, sum);
    struct compare compare = {0};
    compare_bits(&compare, whole, sum, bench.model.count);
    ck_assert_msg(compare_equal(&compare), "element %zu: %a, %a", compare.first,
                  (double)compare.left, (double)compare.right);
    bench_release(&bench);
}
END_TEST

/* The last step of an epoch of digits: 1438 samples in windows of 3 x 20 leave 58. */
START_TEST(shares_of_the_digits_sum_to_the_whole_within_the_bound)
{
    struct options options = options_for("digits", 20, 3);
    struct bench bench;
    bench_load(&bench, &options, 5);
    struct step step = sampler_step(&bench.sampler, bench.sampler.steps_per_epoch - 1);
    ck_assert_uint_eq(step.samples.count, bench.train.count % 60);
    float whole[COUNT_MOST], sum[COUNT_MOST];
    double twice[COUNT_MOST];
    sum_of_shares(&bench, &step, 1, whole);
    sum_of_shares(&bench, &step, (size_t)_i, sum);
    struct bound bound;
    ck_assert_int_eq(bound_init(&bound, &bench.model, &bench.memory), 0);
    bench_trainer(&bench, 0, (size_t)_i, nobody);
    bound_step(&bound, &bench.trainer, &step);
    for (size_t i = 0; i < bench.model.count; i++)
        twice[i] = 2 * bound.bound[i];
    struct compare compare = {0};
    compare_bounded(&compare, whole, sum, twice, bench.model.count);
    ck_assert_msg(compare_equal(&compare), "element %zu: %g, %g", compare.first,
                  (double)compare.left, (double)compare.right);
    bound_release(&bound);
    bench_release(&bench);
}
END_TEST

/* Every product of one layer with the others' numbers is 0.4 of the smallest float: float has 0 where
 * the truth has 64 of them, and the ReLU of the first row stays shut. */
START_TEST(products_too_small_for_a_float_are_in_the_bound)
{
    static const struct {
        size_t widths[3];
        float first, second, x, t; // weights of either layer, all features, all targets
    } rows[] = {{{64, 1, 1}, 0x1p-149f, 1, 0.4f, 1}, {{1, 1, 64}, 1, 0x1p-149f, 1, -12.8f}};
    float x[64], t[64];
    struct bench bench;
    struct bound bound;
    bench_line(&bench, x, t, 1, 0);
    model_plan(&bench.model, rows[_i].widths, 2, false);
    bench.train.width = rows[_i].widths[0];
    bench.train.outputs = rows[_i].widths[2];
    for (size_t i = 0; i < 64; i++) {
        x[i] = rows[_i].x;
        t[i] = rows[_i].t;
    }
    size_t first = bench.model.tensors[0].slice.count;
    for (size_t i = 0; i < bench.model.count; i++)
        bench.param[i] = i < first ? rows[_i].first : rows[_i].second;
    bench_trainer(&bench, 0, 1, nobody);
    ck_assert_int_eq(bound_init(&bound, &bench.model, &bench.memory), 0);
    struct step step = sampler_step(&bench.sampler, 0);
    trainer_gradient(&bench.trainer, &step);
    bound_step(&bound, &bench.trainer, &step);
    for (size_t i = 0; i < bench.model.count; i++)
        ck_assert_msg(fabs((double)bench.grad[i] - bound.gradient[i]) <= bound.bound[i],
                      "element %zu: %g, %g, bound %g", i, (double)bench.grad[i], bound.gradient[i],
                      bound.bound[i]);
    bound_release(&bound);
    bench_release(&bench);
}
END_TEST

START_TEST(more_ranks_than_samples_leave_some_with_a_zero_gradient)
{
    float x[3] = {1, 2, 3}, t[3] = {0}, sum = 0;
    struct bench bench;
    bench_line(&bench, x, t, 3, 1);
    struct step step = sampler_step(&bench.sampler, 0);
    for (size_t rank = 0; rank < 5; rank++) {
        bench.grad[0] = NAN; // of the step before
        bench_trainer(&bench, rank, 5, nobody);
        trainer_gradient(&bench.trainer, &step);
        ck_assert_uint_eq(bench.trainer.samples, rank < 3 ? 1 : 0);
        ck_assert(rank < 3 || (bench.grad[0] == 0 && bench.trainer.loss == 0));
        sum += bench.grad[0];
        trainer_release(&bench.trainer);
    }
    ck_assert(fabs((double)sum - 2.0 * 14 / 3) < 1e-6);
    bench_release(&bench);
}
END_TEST

/* --- announcements --------------------------------------------------------------------------- */

struct heard {
    const struct bench *bench;
    size_t tensors[4 * MODEL_TENSORS_MOST];
    size_t count;
    float copy[COUNT_MOST]; // each tensor's gradient at the moment it was announced
};

static void on_ready(void *context, size_t tensor)
{
    struct heard *heard = context;
    struct slice slice = heard->bench->model.tensors[tensor].slice;
    heard->tensors[heard->count++] = tensor;
    memcpy(heard->copy + slice.begin, heard->bench->grad + slice.begin,
           slice.count * sizeof(float));
}

/* Micro-batches of 30 and 4 samples on 7 ranks: the last one leaves ranks 4 to 6 without any. */
START_TEST(every_tensor_is_announced_once_in_reverse_and_is_final)
{
    static const size_t order[4] = {3, 2, 1, 0};
    struct options options = options_for("digits", 30, 2);
    struct bench bench;
    bench_load(&bench, &options, 5);
    size_t rank = (size_t)_i;
    struct heard heard = {.bench = &bench};
    bench_trainer(&bench, rank, 7,
                  (struct model_listener){.on_ready = on_ready, .context = &heard});
    struct step step = {.samples = {.begin = 1404, .count = 34}};
    ck_assert_uint_eq(sampler_share(&bench.sampler, &step, 1, 7, rank).count, rank < 4 ? 1 : 0);
    trainer_gradient(&bench.trainer, &step);
    ck_assert_uint_eq(heard.count, 4);
    ck_assert(memcmp(heard.tensors, order, sizeof order) == 0);
    ck_assert(memcmp(heard.copy, bench.grad, bench.model.count * sizeof(float)) == 0);
    bench_release(&bench);
}
END_TEST

/* --- memory ---------------------------------------------------------------------------------- */

/* Bytes taken from malloc and not given back, where the C library can say. */
static size_t heap_bytes(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

START_TEST(steps_allocate_nothing)
{
    struct options options = options_for("digits", 20, 2);
    struct bench bench;
    bench_load(&bench, &options, 5);
    bench_trainer(&bench, 0, 1, nobody);
    struct memory before = {{0}, {0}, 0};
    size_t heap = 0;
    for (size_t i = 0; i < 40; i++) { // past the end of an epoch
        struct step step = sampler_step(&bench.sampler, i);
        trainer_gradient(&bench.trainer, &step);
        trainer_evaluate(&bench.trainer, &bench.test, (struct slice){0, 100});
        if (i == 0) { // by now the matrix library has made its own buffers
            before = bench.memory;
            heap = heap_bytes();
        }
    }
    ck_assert_uint_eq(heap_bytes(), heap);
    ck_assert(memcmp(&before, &bench.memory, sizeof before) == 0);
    bench_release(&bench);
}
END_TEST

START_TEST(a_zeroed_trainer_can_be_released)
{
    struct trainer trainer = {0};
    trainer_release(&trainer);
}
END_TEST

/* --- what is not finite ---------------------------------------------------------------------- */

START_TEST(a_nan_in_the_data_is_seen_in_loss_and_gradient)
{
    float x[4] = {1, 2, NAN, 4}, t[4] = {0};
    struct bench bench;
    bench_line(&bench, x, t, 4, 1);
    struct step step = sampler_step(&bench.sampler, 0);
    for (size_t rank = 0; rank < 2; rank++) {
        bench_trainer(&bench, rank, 2, nobody);
        trainer_gradient(&bench.trainer, &step);
        ck_assert(isnan(bench.trainer.loss) == (rank == 1));
        ck_assert(isnan(bench.grad[0]) == (rank == 1));
        trainer_release(&bench.trainer);
    }
    bench_release(&bench);
}
END_TEST

Suite *trainer_suite(void)
{
    Suite *suite = suite_create("trainer");
    TCase *tcase = tcase_create("trainer");
    tcase_add_test(tcase, two_ranks_give_shares_that_sum_to_the_mean);
    tcase_add_test(tcase, a_short_micro_batch_weighs_its_samples);
    tcase_add_test(tcase, evaluation_counts_every_sample_once_in_a_short_last_batch_too);
    tcase_add_test(tcase, totals_of_uneven_parts_add_up_to_the_weighted_mean);
    tcase_add_test(tcase, evaluation_in_any_parts_counts_the_same_hits);
    tcase_add_loop_test(tcase, shares_of_the_dyadic_set_sum_to_the_same_bits, 1, WORLD_MOST + 1);
    tcase_add_loop_test(tcase, shares_of_the_digits_sum_to_the_whole_within_the_bound, 1,
                        WORLD_MOST + 1);
    tcase_add_loop_test(tcase, products_too_small_for_a_float_are_in_the_bound, 0, 2);
    tcase_add_test(tcase, more_ranks_than_samples_leave_some_with_a_zero_gradient);
    tcase_add_loop_test(tcase, every_tensor_is_announced_once_in_reverse_and_is_final, 0, 7);
    tcase_add_test(tcase, steps_allocate_nothing);
    tcase_add_test(tcase, a_zeroed_trainer_can_be_released);
    tcase_add_test(tcase, a_nan_in_the_data_is_seen_in_loss_and_gradient);
    suite_add_tcase(suite, tcase);
    return suite;
}
