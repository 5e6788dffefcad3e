/*
 * Ten updates against PyTorch: SGD, Adam, AdamW, clipping, accumulation (golden/make_golden.py).
 *
 * Each update starts from the file's parameters, so that one update's rounding is all there is
 * between the two; the optimizer's state is our own and runs through all ten. What may differ is
 * derived, not tried: bound_step() bounds the gradient's error e(g), and the update passes it on.
 * With u = 2^-24, d the decay and c the clip factor,
 *
 *     h = c g + d w            e(h) = c e(g) + |c g| e(c) / c + 4 u (|c g| + |d w|)
 *     v = momentum v + h       e(v) = momentum e(v) + e(h) + 4 u (|momentum v| + |h|)
 *     w = w - lr v             e(w) = lr e(v) + 4 u |lr v| + 2 u |w|
 *
 * and in the same way for Adam. The file's numbers are themselves rounded once: the second u |w|.
 */
#include "common/compare.h"
#include "common/tensorfile.h"
#include "lesson01_single/bound.h"
#include "lesson01_single/norm.h"
#include "lesson01_single/optimizer.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 57, HIDDEN = 5, BATCH = 10, UPDATES = 10 };
enum { COUNT = HIDDEN * 64 + HIDDEN + 10 * HIDDEN + 10 };

static const double U = 0x1p-24, BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-8;

struct run {
    const char *name;
    enum optimizer_kind kind;
    double lr, momentum, decay, clip;
    size_t accumulate;
};

/* As in the script. */
static const struct run runs[] = {
    {"plain", OPTIMIZER_SGD, 0.1, 0, 0, 0, 1},
    {"momentum", OPTIMIZER_SGD, 0.1, 0.9, 0.01, 0, 1},
    {"adam", OPTIMIZER_ADAM, 0.01, 0, 0, 0, 1},
    {"adamw", OPTIMIZER_ADAMW, 0.01, 0, 0.01, 0, 1},
    {"clip", OPTIMIZER_SGD, 0.1, 0.9, 0.01, 0.5, 1},
    {"accumulate2", OPTIMIZER_SGD, 0.1, 0.9, 0.01, 0, 2},
    {"accumulate3", OPTIMIZER_SGD, 0.1, 0.9, 0.01, 0, 3},
};
enum { RUNS = sizeof runs / sizeof *runs };

struct golden {
    const struct run *run;
    struct options options;
    struct memory memory;
    struct fail fail;
    struct model model;
    struct dataset train, test;
    struct sampler sampler;
    struct trainer trainer;
    struct optimizer optimizer;
    struct slice whole;
    struct bound bound;
    float expected[UPDATES + 1][COUNT], expected_grad[COUNT]; // the file
    float param[COUNT], grad[COUNT];
    double e_state[OPTIMIZER_STATES_MOST][COUNT]; // bounds on the errors of the optimizer's state
    double e_param[COUNT];
};

static void check(const struct golden *golden, int code)
{
    ck_assert_msg(code == 0, "%s: %d %s", golden->run->name, code, golden->fail.text);
}

static void read_file(struct golden *golden)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s.safetensors", SOURCE_DIR, golden->run->name);
    struct tensorfile_reader *reader;
    check(golden, tensorfile_open(&reader, path, &golden->fail));
    const struct tensorfile_entry *param = tensorfile_find(reader, "param");
    const struct tensorfile_entry *grad = tensorfile_find(reader, "grad");
    ck_assert(param && param->count == (UPDATES + 1) * COUNT && grad && grad->count == COUNT);
    check(golden,
          tensorfile_read(reader, param, 0, golden->expected[0], param->count, &golden->fail));
    check(golden, tensorfile_read(reader, grad, 0, golden->expected_grad, COUNT, &golden->fail));
    tensorfile_close(reader);
}

static void set_options(struct golden *golden)
{
    golden->options = (struct options){
        .data = "digits",
        .epochs = 1,
        .batch = BATCH,
        .accumulate = golden->run->accumulate,
        .optimizer = golden->run->kind,
        .momentum = golden->run->momentum,
        .weight_decay = golden->run->decay,
    };
}

static void golden_init(struct golden *golden, const struct run *run)
{
    static const size_t widths[3] = {64, HIDDEN, 10};
    *golden = (struct golden){.run = run, .whole = {0, COUNT}};
    struct options *options = &golden->options;
    struct memory *memory = &golden->memory;
    set_options(golden);
    read_file(golden);
    model_plan(&golden->model, widths, 2, true);
    check(golden, dataset_load(&golden->train, &golden->test, options, memory, &golden->fail));
    check(golden, sampler_init(&golden->sampler, ROWS, options, &golden->memory, &golden->fail));
    struct trainer like = {.model = &golden->model,
                           .dataset = &golden->train,
                           .sampler = &golden->sampler,
                           .world = 1,
                           .param = golden->param,
                           .grad = golden->grad};
    check(golden, trainer_init(&golden->trainer, &like, BATCH, memory));
    check(golden,
          optimizer_init(&golden->optimizer, options, &golden->model, &golden->whole, 1, memory));
    check(golden, bound_init(&golden->bound, &golden->model, memory));
}

static void golden_release(struct golden *golden)
{
    bound_release(&golden->bound);
    optimizer_release(&golden->optimizer);
    trainer_release(&golden->trainer);
    sampler_release(&golden->sampler);
    dataset_release(&golden->train);
    dataset_release(&golden->test);
}

/* --- what the update does to an error -------------------------------------------------------- */

/* The clip factor, and a bound on its relative error: |norm(g + e) - norm(g)| <= norm(e). */
struct factor {
    double c, e;
};

static struct factor factor_of(const struct golden *golden)
{
    double norm = norm_of(golden->grad, COUNT), squares = 0;
    for (size_t i = 0; i < COUNT; i++)
        squares += golden->bound.bound[i] * golden->bound.bound[i];
    double c = (double)norm_clip(norm, golden->run->clip);
    return (struct factor){.c = c, .e = c < 1 ? sqrt(squares) / norm + 2 * U : 0};
}

static double decay_of(const struct golden *golden, size_t i)
{
    for (size_t t = 0; t < golden->model.tensor_count; t++)
        if (i - golden->model.tensors[t].slice.begin < golden->model.tensors[t].slice.count)
            return golden->model.tensors[t].decays ? golden->run->decay : 0;
    return 0;
}

/* The values are our own floats, as they were before the update. */
struct element {
    double w, h, e_h, lr;
    const double *state; // (2)
    double *e_state[2];
};

/* Returns e(w). */
static double sgd_error(const struct element *element, double momentum)
{
    double kept = momentum * element->state[0], v = kept + element->h;
    double e =
        momentum * *element->e_state[0] + element->e_h + 4 * U * (fabs(kept) + fabs(element->h));
    *element->e_state[0] = e;
    return element->lr * (e + 4 * U * fabs(v)) + 2 * U * (fabs(element->w) + element->lr * fabs(v));
}

/* With the smallest denominator that the error of v allows. t counts from 1. */
static double adam_error(const struct element *element, size_t t)
{
    double h = element->h, e_h = element->e_h;
    double m = BETA_1 * element->state[0] + (1 - BETA_1) * h;
    double e_m = BETA_1 * *element->e_state[0] + (1 - BETA_1) * e_h +
                 4 * U * (BETA_1 * fabs(element->state[0]) + (1 - BETA_1) * fabs(h));
    double v = BETA_2 * element->state[1] + (1 - BETA_2) * h * h;
    double e_v =
        BETA_2 * *element->e_state[1] + (1 - BETA_2) * (2 * fabs(h) + e_h) * e_h + 5 * U * v;
    *element->e_state[0] = e_m;
    *element->e_state[1] = e_v;
    double size = element->lr / (1 - pow(BETA_1, (double)t));
    double correct = 1 / sqrt(1 - pow(BETA_2, (double)t));
    double q = sqrt(v) * correct + EPSILON, q_least = sqrt(fmax(v - e_v, 0)) * correct + EPSILON;
    double step = size * fabs(m) / q;
    double e_step = size * (fabs(m) + e_m) / q_least - step + 10 * U * step;
    return e_step + 4 * U * (fabs(element->w) + step); // two more: AdamW's shrinking
}

/* Fills e_param for the update that is about to be made. */
static void pass_on_errors(struct golden *golden)
{
    struct factor factor = factor_of(golden);
    const struct optimizer *optimizer = &golden->optimizer;
    for (size_t i = 0; i < COUNT; i++) {
        double state[2] = {0, 0}, w = (double)golden->param[i];
        for (size_t j = 0; j < optimizer->states; j++)
            state[j] = (double)optimizer->state[j][i];
        double d = golden->run->kind == OPTIMIZER_SGD ? decay_of(golden, i) : 0;
        double clipped = factor.c * (double)golden->grad[i];
        struct element element = {
            .w = w,
            .h = clipped + d * w,
            .e_h = factor.c * (1 + factor.e) * golden->bound.bound[i] + fabs(clipped) * factor.e +
                   4 * U * (fabs(clipped) + d * fabs(w)),
            .lr = golden->run->lr,
            .state = state,
            .e_state = {&golden->e_state[0][i], &golden->e_state[1][i]},
        };
        golden->e_param[i] = golden->run->kind == OPTIMIZER_SGD
                                 ? sgd_error(&element, golden->run->momentum)
                                 : adam_error(&element, optimizer->updates + 1);
    }
}

/* --- the updates ----------------------------------------------------------------------------- */

static void compare(const struct golden *golden, const char *what, size_t update,
                    const float *found, const float *expected, const double *bound)
{
    struct compare compare = {0};
    compare_bounded(&compare, found, expected, bound, COUNT);
    ck_assert_msg(compare_equal(&compare),
                  "%s, update %zu, %s: %zu of %d differ, first element %zu: %.9g, PyTorch %.9g, "
                  "bound %g",
                  golden->run->name, update, what, compare.different, COUNT, compare.first,
                  (double)compare.left, (double)compare.right, bound[compare.first]);
}

/* Adam divides by the gradient's size, so for a gradient of nearly 0 the bound proves little. For
 * nine elements out of ten it must be less than a hundredth of the step. */
static void check_bounds_prove_something(const struct golden *golden)
{
    size_t wide = 0;
    for (size_t i = 0; i < COUNT; i++)
        wide += !(golden->e_param[i] <= golden->run->lr / 100);
    ck_assert_uint_le(wide, COUNT / 10);
}

static void make_update(struct golden *golden, size_t update)
{
    struct step step = sampler_step(&golden->sampler, update);
    memcpy(golden->param, golden->expected[update], sizeof golden->param);
    trainer_gradient(&golden->trainer, &step);
    bound_step(&golden->bound, &golden->trainer, &step);
    if (update == 0) {
        double bound[COUNT];
        for (size_t i = 0; i < COUNT; i++)
            bound[i] = golden->bound.bound[i] + U * fabs((double)golden->expected_grad[i]);
        compare(golden, "gradient", update, golden->grad, golden->expected_grad, bound);
    }
    pass_on_errors(golden);
    check_bounds_prove_something(golden);
    float clip = norm_clip(norm_of(golden->grad, COUNT), golden->run->clip);
    struct rate rate = {.lr = (float)golden->run->lr, .clip = clip};
    optimizer_step(&golden->optimizer, golden->param, golden->grad, rate);
    compare(golden, "parameters", update, golden->param, golden->expected[update + 1],
            golden->e_param);
}

START_TEST(ten_updates_are_those_of_pytorch)
{
    struct golden *golden = malloc(sizeof *golden);
    ck_assert_ptr_nonnull(golden);
    golden_init(golden, &runs[_i]);
    for (size_t update = 0; update < UPDATES; update++)
        make_update(golden, update);
    golden_release(golden);
    free(golden);
}
END_TEST

Suite *golden_suite(void)
{
    Suite *suite = suite_create("golden");
    TCase *tcase = tcase_create("golden");
    tcase_add_loop_test(tcase, ten_updates_are_those_of_pytorch, 0, RUNS);
    suite_add_tcase(suite, tcase);
    return suite;
}
