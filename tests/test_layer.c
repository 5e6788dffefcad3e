/* A dense layer and a ReLU are what their formulas say, for one row, none, and odd shapes. Small
 * whole numbers: every order of addition gives the same bits, so products are compared exactly. */
#include "lesson01_single/layer.h"
#include "common/rng.h"
#include "lesson01_single/matmul.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <math.h>

enum { SIDE_MOST = 67, ROOM = SIDE_MOST * SIDE_MOST };

static const struct dense_shape hand = {.rows = 2, .in = 3, .out = 2};
static const float x[6] = {1, 2, 3, -1, 0, 2}, w[6] = {1, 0, -1, 2, 1, 0}, b[2] = {10, 20};

START_TEST(forward_is_x_times_w_transposed_plus_b)
{
    float y[4] = {NAN, NAN, NAN, NAN};
    dense_forward(y, x, w, b, hand);
    ck_assert(y[0] == 8 && y[1] == 24 && y[2] == 7 && y[3] == 18);
}
END_TEST

START_TEST(forward_without_a_bias_starts_from_zero)
{
    float y[4] = {NAN, NAN, NAN, NAN};
    dense_forward(y, x, w, NULL, hand);
    ck_assert(y[0] == -2 && y[1] == 4 && y[2] == -3 && y[3] == -2);
}
END_TEST

static const float dy[4] = {1, 2, 3, -1};

static void is(const char *what, size_t i, float found, float expected)
{
    ck_assert_msg(found == expected, "%s[%zu]: expected %g, found %g", what, i, (double)expected,
                  (double)found);
}

START_TEST(gradients_of_parameters_are_added_to_what_is_there)
{
    float dw[6] = {100, 100, 100, 100, 100, 100}, db[2] = {100, 100};
    dense_backward_weight(dw, dy, x, hand);
    dense_backward_bias(db, dy, hand);
    static const float expected[6] = {98, 102, 109, 103, 104, 104};
    for (size_t i = 0; i < 6; i++)
        is("dw", i, dw[i], expected[i]);
    is("db", 0, db[0], 104);
    is("db", 1, db[1], 101);
}
END_TEST

START_TEST(the_gradient_of_the_input_replaces_what_is_there)
{
    float dx[6] = {NAN, NAN, NAN, NAN, NAN, NAN};
    dense_backward_input(dx, dy, w, hand);
    static const float expected[6] = {5, 2, -1, 1, -1, -3};
    for (size_t i = 0; i < 6; i++)
        is("dx", i, dx[i], expected[i]);
}
END_TEST

START_TEST(no_row_touches_nothing)
{
    struct dense_shape none = {.rows = 0, .in = 3, .out = 2};
    float y = 7, dw[6] = {7, 7, 7, 7, 7, 7}, db[2] = {7, 7}, dx = 7;
    dense_forward(&y, x, w, b, none);
    dense_backward_weight(dw, dy, x, none);
    dense_backward_bias(db, dy, none);
    dense_backward_input(&dx, dy, w, none);
    for (size_t i = 0; i < 6; i++)
        ck_assert(dw[i] == 7);
    ck_assert(y == 7 && dx == 7 && db[0] == 7 && db[1] == 7);
}
END_TEST

static void fill(float *to, size_t count, uint32_t sub)
{
    struct rng rng = {.seed = 1, .stream = RNG_TEST, .sub = sub};
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(rng_bits(&rng, i) % 9) - 4;
}

/* c[i][j] += sum over l of a[i * row + l * step] * b[...]: any of the three, by its definition. */
struct strides {
    size_t row, step;
};

static void by_definition(float *c, const float *left, struct strides l, const float *right,
                          struct strides r, struct matmul_shape shape)
{
    for (size_t i = 0; i < shape.m; i++)
        for (size_t j = 0; j < shape.n; j++)
            for (size_t k = 0; k < shape.k; k++)
                c[i * shape.n + j] += left[i * l.row + k * l.step] * right[j * r.row + k * r.step];
}

static const size_t sides[] = {1, 2, 3, 7, 16, 33, SIDE_MOST};
enum { SIDES = sizeof sides / sizeof *sides };

START_TEST(products_match_their_definition_for_every_shape)
{
    struct matmul_shape s = {
        .m = sides[_i / SIDES / SIDES], .n = sides[_i / SIDES % SIDES], .k = sides[_i % SIDES]};
    static float left[ROOM], right[ROOM], c[ROOM], expected[ROOM];
    fill(left, s.m * s.k, 1);
    fill(right, s.n * s.k, 2);
    for (int product = 0; product < 3; product++) {
        struct strides l = product == 2 ? (struct strides){1, s.m} : (struct strides){s.k, 1};
        struct strides r = product == 0 ? (struct strides){s.k, 1} : (struct strides){1, s.n};
        fill(c, s.m * s.n, 3);
        for (size_t i = 0; i < s.m * s.n; i++)
            expected[i] = product == 1 ? 0 : c[i];
        by_definition(expected, left, l, right, r, s);
        (product == 0 ? matmul_nt : product == 1 ? matmul_nn : matmul_tn)(c, left, right, s);
        for (size_t i = 0; i < s.m * s.n; i++)
            ck_assert_msg(c[i] == expected[i], "product %d, element %zu", product, i);
    }
}
END_TEST

START_TEST(relu_keeps_what_is_positive_and_what_is_not_a_number)
{
    float y[5] = {-1, 0, 2, NAN, -INFINITY};
    relu_forward(y, 5);
    ck_assert(y[0] == 0 && y[1] == 0 && y[2] == 2 && isnan(y[3]) && y[4] == 0);
    relu_forward(y + 3, 0);
    ck_assert(isnan(y[3]));
}
END_TEST

START_TEST(relu_passes_a_gradient_only_where_its_output_is_positive)
{
    static const float y[5] = {0, 2, 0x1p-149f, 0, 0}, expected[6] = {0, 6, 7, 0, 0, 8};
    float d[6] = {5, 6, 7, INFINITY, NAN, 8}; // no product: 0 times an infinity is none
    relu_backward(d, y, 5);
    for (size_t i = 0; i < 6; i++)
        is("dy", i, d[i], expected[i]);
}
END_TEST

Suite *layer_suite(void)
{
    Suite *suite = suite_create("layer");
    TCase *tcase = tcase_create("layer");
    tcase_add_test(tcase, forward_is_x_times_w_transposed_plus_b);
    tcase_add_test(tcase, forward_without_a_bias_starts_from_zero);
    tcase_add_test(tcase, gradients_of_parameters_are_added_to_what_is_there);
    tcase_add_test(tcase, the_gradient_of_the_input_replaces_what_is_there);
    tcase_add_test(tcase, no_row_touches_nothing);
    watched_add_rows(tcase, products_match_their_definition_for_every_shape, SIDES * SIDES * SIDES);
    tcase_add_test(tcase, relu_keeps_what_is_positive_and_what_is_not_a_number);
    tcase_add_test(tcase, relu_passes_a_gradient_only_where_its_output_is_positive);
    suite_add_tcase(suite, tcase);
    return suite;
}
