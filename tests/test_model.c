/* The slab's layout, the first weights, and one forward and backward pass by hand. */
#include "lesson01_single/model.h"
#include "lesson01_single/activations.h"
#include "tests/heard.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

START_TEST(tensors_tile_the_slab_under_the_names_of_pytorch)
{
    static const size_t widths[3] = {64, 64, 10};
    static const char *const names[4] = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
    static const size_t shapes[4][2] = {{64, 64}, {64, 0}, {10, 64}, {10, 0}};
    struct model model;
    model_plan(&model, widths, 2, true);
    ck_assert_uint_eq(model.tensor_count, 4);
    size_t end = 0;
    for (size_t i = 0; i < 4; i++) {
        const struct tensor *tensor = &model.tensors[i];
        ck_assert_str_eq(tensor->name, names[i]);
        ck_assert_uint_eq(tensor->dimensions, i % 2 == 0 ? 2 : 1);
        ck_assert_uint_eq(tensor->shape[0], shapes[i][0]);
        ck_assert(tensor->dimensions == 1 || tensor->shape[1] == shapes[i][1]);
        ck_assert_uint_eq(tensor->slice.begin, end);
        ck_assert(tensor->decays == (i % 2 == 0));
        end += tensor->slice.count;
    }
    ck_assert_uint_eq(end, model.count);
    ck_assert_uint_eq(model.count, 64 * 64 + 64 + 10 * 64 + 10);
}
END_TEST

START_TEST(without_biases_only_weights_are_left)
{
    static const size_t widths[4] = {5, 3, 2, 1};
    struct model model;
    model_plan(&model, widths, 3, false);
    ck_assert_uint_eq(model.tensor_count, 3);
    ck_assert_uint_eq(model.count, 15 + 6 + 2);
    ck_assert_str_eq(model.tensors[2].name, "fc3.weight");
    ck_assert_uint_eq(model.tensors[2].slice.begin, 21);
}
END_TEST

START_TEST(the_deepest_model_fits)
{
    size_t widths[MODEL_LAYERS_MOST + 1];
    for (size_t i = 0; i <= MODEL_LAYERS_MOST; i++)
        widths[i] = 1;
    struct model model;
    model_plan(&model, widths, MODEL_LAYERS_MOST, true);
    ck_assert_uint_eq(model.tensor_count, MODEL_TENSORS_MOST);
    ck_assert_str_eq(model.tensors[MODEL_TENSORS_MOST - 1].name, "fc17.bias");
}
END_TEST

enum { COUNT = 100 * 24 + 24 + 24 * 3 + 3 };
static const size_t some[3] = {100, 24, 3};

START_TEST(first_weights_fill_their_interval_and_biases_are_zero)
{
    float param[COUNT];
    struct model model;
    model_plan(&model, some, 2, true);
    ck_assert_uint_eq(model.count, COUNT);
    model_init_he(&model, param, 7);
    const float *w = param + model.tensors[0].slice.begin; // (24, 100)
    double limit = sqrt(6.0 / 100), sum = 0, squares = 0, most = 0;
    for (size_t i = 0; i < 2400; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
        most = fmax(most, fabs((double)w[i]));
    }
    /* Uniform: variance limit^2 / 3, so that ReLU layers keep it: 2 / in. Five standard errors. */
    ck_assert(most <= limit * (1 + 0x1p-22) && most > 0.99 * limit);
    ck_assert(fabs(sum / 2400) < 5 * sqrt(2.0 / 100 / 2400));
    ck_assert(fabs(squares / 2400 - 2.0 / 100) < 5 * 2.0 / 100 * sqrt(0.8 / 2400));
    for (size_t i = 0; i < 24; i++)
        ck_assert(param[model.tensors[1].slice.begin + i] == 0);
}
END_TEST

START_TEST(first_weights_depend_on_the_seed_alone)
{
    float one[COUNT], again[COUNT], other[COUNT];
    struct model model;
    model_plan(&model, some, 2, true);
    memset(again, 0xff, sizeof again);
    model_init_he(&model, one, 7);
    model_init_he(&model, again, 7);
    model_init_he(&model, other, 8);
    ck_assert(memcmp(one, again, sizeof one) == 0);
    ck_assert(memcmp(one, other, sizeof one) != 0);
    ck_assert(memcmp(one, one + model.tensors[2].slice.begin, 64) != 0); // layers differ
}
END_TEST

/* Widths 2 -> 2 -> 1:  w1 = [1 2; -3 1], b1 = (0, 1), w2 = [2 5], b2 = 1. */
static const size_t hand[3] = {2, 2, 1};
static const float param[9] = {1, 2, -3, 1, 0, 1, 2, 5, 1};
enum { HAND_COUNT = 9, ROWS = 2 };
static const struct pass rows = {.rows = ROWS}, one_row = {.rows = 1}, no_rows = {.rows = 0};

struct bench {
    struct model model;
    struct activations activations;
    struct memory memory;
    struct heard heard;
};

static void bench_init(struct bench *bench)
{
    *bench = (struct bench){0};
    model_plan(&bench->model, hand, 2, true);
    ck_assert_int_eq(activations_init(&bench->activations, &bench->model, ROWS, &bench->memory), 0);
    static const float x[2 * ROWS] = {1, 1, -1, 2};
    memcpy(bench->activations.a[0], x, sizeof x);
}

static void bench_release(struct bench *bench)
{
    activations_release(&bench->activations, &bench->model, &bench->memory);
    ck_assert_uint_eq(bench->memory.now_bytes[MEMORY_ACTIVATIONS], 0);
}

START_TEST(forward_gives_the_hand_worked_outputs)
{
    struct bench bench;
    bench_init(&bench);
    model_forward(&bench.model, param, &bench.activations, &rows);
    /* z1 = (3, -1), (3, 6); max(z1, 0) = (3, 0), (3, 6) */
    ck_assert(bench.activations.a[1][0] == 3 && bench.activations.a[1][1] == 0);
    ck_assert(bench.activations.a[1][2] == 3 && bench.activations.a[1][3] == 6);
    ck_assert(bench.activations.a[2][0] == 7 && bench.activations.a[2][1] == 37);
    bench_release(&bench);
}
END_TEST

START_TEST(backward_gives_the_hand_worked_gradients_in_reverse_order)
{
    static const size_t order[4] = {3, 2, 1, 0};
    /* dz2 = 1, -1; the second hidden unit is off for the first row:
     * dh = (2, 0), (-2, -5); dW1 = dh^T x; dW2 = dz2^T h */
    static const float expected[HAND_COUNT] = {2 + 2, 2 - 4, 5, -10, 0, -5, 3 - 3, -6, 0};
    struct model_listener listener;
    struct bench bench;
    bench_init(&bench);
    listener = heard_listener(&bench.heard);
    model_forward(&bench.model, param, &bench.activations, &rows);
    bench.activations.a[2][0] = 1;
    bench.activations.a[2][1] = -1;
    float grad[HAND_COUNT];
    for (size_t i = 0; i < HAND_COUNT; i++)
        grad[i] = 100; // added to, not replaced
    model_backward(&bench.model, param, &bench.activations, &rows, grad, &listener);
    for (size_t i = 0; i < HAND_COUNT; i++)
        ck_assert_msg(grad[i] == 100 + expected[i], "element %zu: %g", i, (double)grad[i]);
    ck_assert_uint_eq(bench.heard.count, 4);
    ck_assert(memcmp(bench.heard.tensors, order, sizeof order) == 0);
    bench_release(&bench);
}
END_TEST

/* Widths 2 -> 3 -> 2 -> 3 -> 1, all weights 1: a = 1, 2, 6, 12, 36 and d = 6, 3, 1, 1 down to
 * up. */
START_TEST(backward_walks_down_a_deep_model)
{
    static const size_t widths[5] = {2, 3, 2, 3, 1};
    static const float expected[4] = {6 * 1, 3 * 2, 1 * 6, 1 * 12};
    struct model_listener nobody = {0};
    struct activations activations;
    struct memory memory = {0};
    struct model model;
    model_plan(&model, widths, 4, false);
    float ones[21], grad[21] = {0};
    ck_assert_uint_eq(model.count, 21);
    for (size_t i = 0; i < 21; i++)
        ones[i] = 1;
    ck_assert_int_eq(activations_init(&activations, &model, 1, &memory), 0);
    activations.a[0][0] = activations.a[0][1] = 1;
    model_forward(&model, ones, &activations, &one_row);
    ck_assert(activations.a[4][0] == 36);
    activations.a[4][0] = 1;
    model_backward(&model, ones, &activations, &one_row, grad, &nobody);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < model.tensors[i].slice.count; j++)
            ck_assert(grad[model.tensors[i].slice.begin + j] == expected[i]);
    activations_release(&activations, &model, &memory);
}
END_TEST

START_TEST(no_row_changes_no_gradient_and_announces_every_tensor)
{
    struct bench bench;
    bench_init(&bench);
    struct model_listener listener = heard_listener(&bench.heard);
    float grad[HAND_COUNT] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
    model_forward(&bench.model, param, &bench.activations, &no_rows);
    model_backward(&bench.model, param, &bench.activations, &no_rows, grad, &listener);
    for (size_t i = 0; i < HAND_COUNT; i++)
        ck_assert(grad[i] == 7);
    ck_assert_uint_eq(bench.heard.count, 4);
    bench_release(&bench);
}
END_TEST

START_TEST(a_nan_in_the_data_reaches_the_output)
{
    struct bench bench;
    bench_init(&bench);
    bench.activations.a[0][0] = NAN;
    model_forward(&bench.model, param, &bench.activations, &rows);
    ck_assert(isnan(bench.activations.a[2][0]));
    ck_assert(bench.activations.a[2][1] == 37);
    bench_release(&bench);
}
END_TEST

START_TEST(backward_leaves_the_data_and_the_parameters_alone)
{
    struct bench bench;
    bench_init(&bench);
    struct model_listener nobody = {0};
    float copy[HAND_COUNT], grad[HAND_COUNT] = {0};
    memcpy(copy, param, sizeof copy);
    model_forward(&bench.model, copy, &bench.activations, &rows);
    model_backward(&bench.model, copy, &bench.activations, &rows, grad, &nobody);
    ck_assert(memcmp(copy, param, sizeof copy) == 0);
    ck_assert(bench.activations.a[0][0] == 1 && bench.activations.a[0][3] == 2);
    bench_release(&bench);
}
END_TEST

/* Tensors that lie elsewhere, brought when they are asked for, at the last moment. */
struct elsewhere {
    struct bench *bench;
    struct places places;
    float param[HAND_COUNT], grad[HAND_COUNT];
    char asked[64];
};

static void on_layer(void *context, size_t layer)
{
    struct elsewhere *elsewhere = context;
    const struct model *model = &elsewhere->bench->model;
    size_t length = strlen(elsewhere->asked);
    snprintf(elsewhere->asked + length, sizeof elsewhere->asked - length, "layer %zu ", layer);
    for (size_t i = 0; i < model->tensor_count; i++) {
        size_t begin = model->tensors[i].slice.begin;
        bool its = i == model->weight_of[layer] || i == model->bias_of[layer];
        elsewhere->places.param[i] = its ? elsewhere->param + begin : NULL;
    }
}

static void on_add(void *context, size_t tensor)
{
    struct elsewhere *elsewhere = context;
    elsewhere->places.grad[tensor] =
        elsewhere->grad + elsewhere->bench->model.tensors[tensor].slice.begin;
}

START_TEST(tensors_may_lie_anywhere_and_come_when_their_layer_is_walked)
{
    struct bench bench;
    bench_init(&bench);
    struct model_listener nobody = {0};
    struct elsewhere elsewhere = {.bench = &bench,
                                  .places = {.on_layer = on_layer, .on_add = on_add}};
    elsewhere.places.context = &elsewhere;
    memcpy(elsewhere.param, param, sizeof param);
    float grad[HAND_COUNT] = {0}, output[2];
    model_forward(&bench.model, param, &bench.activations, &rows);
    memcpy(output, bench.activations.a[2], sizeof output);
    model_backward(&bench.model, param, &bench.activations, &rows, grad, &nobody);
    struct pass pass = rows;
    pass.places = &elsewhere.places;
    model_forward(&bench.model, NULL, &bench.activations, &pass);
    ck_assert(memcmp(output, bench.activations.a[2], sizeof output) == 0);
    model_backward(&bench.model, NULL, &bench.activations, &pass, NULL, &nobody);
    ck_assert(memcmp(grad, elsewhere.grad, sizeof grad) == 0);
    ck_assert_str_eq(elsewhere.asked, "layer 0 layer 1 layer 1 layer 0 ");
    bench_release(&bench);
}
END_TEST

Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("model");
    tcase_add_test(tcase, tensors_tile_the_slab_under_the_names_of_pytorch);
    tcase_add_test(tcase, without_biases_only_weights_are_left);
    tcase_add_test(tcase, the_deepest_model_fits);
    tcase_add_test(tcase, first_weights_fill_their_interval_and_biases_are_zero);
    tcase_add_test(tcase, first_weights_depend_on_the_seed_alone);
    tcase_add_test(tcase, forward_gives_the_hand_worked_outputs);
    tcase_add_test(tcase, backward_gives_the_hand_worked_gradients_in_reverse_order);
    tcase_add_test(tcase, backward_walks_down_a_deep_model);
    tcase_add_test(tcase, no_row_changes_no_gradient_and_announces_every_tensor);
    tcase_add_test(tcase, a_nan_in_the_data_reaches_the_output);
    tcase_add_test(tcase, backward_leaves_the_data_and_the_parameters_alone);
    tcase_add_test(tcase, tensors_may_lie_anywhere_and_come_when_their_layer_is_walked);
    suite_add_tcase(suite, tcase);
    return suite;
}
