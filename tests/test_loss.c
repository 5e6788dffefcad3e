/* The losses and their gradients, by hand, at the edges of float, and for no row at all. */
#include "lesson01_single/loss.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>

/* A float's relative rounding error, for the few operations between a logit and its gradient. */
static const double FEW = 16 * 0x1p-24;

static bool near(double found, double expected)
{
    return fabs(found - expected) <= FEW * fmax(1, fabs(expected));
}

static void is(const char *what, double found, double expected)
{
    ck_assert_msg(found == expected, "%s: expected %.9g, found %.9g", what, expected, found);
}

static void is_near(const char *what, double found, double expected)
{
    ck_assert_msg(near(found, expected), "%s: expected %.9g, found %.9g", what, expected, found);
}

START_TEST(cross_entropy_is_minus_log_of_the_labels_share)
{
    float z[4] = {0, logf(3), 0, 0}; // shares 1/4 and 3/4; 1/2 and 1/2
    static const int32_t labels[2] = {0, 1};
    double loss = loss_cross_entropy(z, labels, 0.5f, (struct loss_shape){2, 2});
    is_near("loss, the sum of both rows", loss, log(4) + log(2));
    is_near("dz[0], of weight 0.5", (double)z[0], 0.5 * (0.25 - 1));
    is_near("dz[1], of weight 0.5", (double)z[1], 0.5 * 0.75);
    is("dz[2], of weight 0.5", (double)z[2], 0.25);
    is("dz[3], of weight 0.5", (double)z[3], -0.25);
}
END_TEST

START_TEST(a_logit_of_ten_thousand_overflows_nothing)
{
    float z[6] = {1e4f, 0, -1e4f, 1e4f, 0, -1e4f};
    static const int32_t labels[2] = {0, 2};
    double loss = loss_cross_entropy(z, labels, 1, (struct loss_shape){2, 3});
    static const double expected[6] = {0, 0, 0, 1, 0, -1};
    is("loss of both rows", loss, 2e4); // 0 for the first, 1e4 - -1e4 for the second
    for (size_t i = 0; i < 6; i++)
        is("a gradient", (double)z[i], expected[i]);
}
END_TEST

START_TEST(the_largest_floats_are_no_exception)
{
    float z[2] = {3e38f, 3e38f};
    static const int32_t label = 1;
    double loss = loss_cross_entropy(z, &label, 1, (struct loss_shape){1, 2});
    is_near("loss", loss, log(2));
    is("dz[0]", (double)z[0], 0.5);
    is("dz[1]", (double)z[1], -0.5);
}
END_TEST

START_TEST(a_nan_among_the_logits_is_seen_in_the_loss_and_in_every_gradient)
{
    float z[3] = {1, 2, 3};
    static const int32_t label = 1;
    z[_i % 3] = _i < 3 ? NAN : INFINITY;
    double loss = loss_cross_entropy(z, &label, 1, (struct loss_shape){1, 3});
    ck_assert_msg(isnan(loss), "loss: expected NaN, found %g", loss);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(isnan(z[i]), "dz[%zu]: expected NaN, found %g", i, (double)z[i]);
}
END_TEST

START_TEST(a_bad_row_leaves_its_neighbours_alone)
{
    float z[6] = {0, 0, NAN, 0, 0, 0};
    static const int32_t labels[3] = {0, 0, 1};
    ck_assert(isnan(loss_cross_entropy(z, labels, 1, (struct loss_shape){3, 2})));
    ck_assert(z[0] == -0.5f && z[1] == 0.5f && z[4] == 0.5f && z[5] == -0.5f);
}
END_TEST

START_TEST(one_class_leaves_nothing_to_learn)
{
    float z = 5;
    static const int32_t label = 0;
    ck_assert(loss_cross_entropy(&z, &label, 1, (struct loss_shape){1, 1}) == 0);
    ck_assert(z == 0);
}
END_TEST

START_TEST(squared_error_is_a_mean_over_outputs_and_a_sum_over_rows)
{
    float y[4] = {1, 3, 0, -2};
    static const float t[4] = {0, 1, 0, 2};
    double loss = loss_squared_error(y, t, 0.25f, (struct loss_shape){2, 2});
    ck_assert(loss == 2.5 + 8);
    ck_assert(y[0] == 0.25f && y[1] == 0.5f && y[2] == 0 && y[3] == -1);
}
END_TEST

START_TEST(a_nan_stays_a_nan_in_the_squared_error)
{
    float y[3] = {1, NAN, 2};
    static const float t[3] = {1, 1, 1};
    ck_assert(isnan(loss_squared_error(y, t, 1, (struct loss_shape){3, 1})));
    ck_assert(y[0] == 0 && isnan(y[1]) && y[2] == 2);
}
END_TEST

START_TEST(no_row_costs_nothing_and_touches_nothing)
{
    float z[2] = {3, 4};
    static const int32_t label = 0;
    static const float t[2] = {0, 0};
    ck_assert(loss_cross_entropy(z, &label, 1, (struct loss_shape){0, 2}) == 0);
    ck_assert(loss_squared_error(z, t, 1, (struct loss_shape){0, 2}) == 0);
    ck_assert_uint_eq(loss_correct(z, &label, (struct loss_shape){0, 2}), 0);
    ck_assert(z[0] == 3 && z[1] == 4);
}
END_TEST

START_TEST(a_row_is_correct_where_its_largest_output_is_the_labels)
{
    static const float z[12] = {1, 3, 2, -1, -2, -3, 0, 0, 5, 4, 4, 4};
    static const int32_t labels[4] = {1, 1, 2, 0};
    ck_assert_uint_eq(loss_correct(z, labels, (struct loss_shape){4, 3}), 3);
    ck_assert_uint_eq(loss_correct(z, labels, (struct loss_shape){1, 3}), 1);
}
END_TEST

Suite *loss_suite(void)
{
    Suite *suite = suite_create("loss");
    TCase *tcase = tcase_create("loss");
    tcase_add_test(tcase, cross_entropy_is_minus_log_of_the_labels_share);
    tcase_add_test(tcase, a_logit_of_ten_thousand_overflows_nothing);
    tcase_add_test(tcase, the_largest_floats_are_no_exception);
    tcase_add_loop_test(tcase, a_nan_among_the_logits_is_seen_in_the_loss_and_in_every_gradient, 0,
                        6);
    tcase_add_test(tcase, a_bad_row_leaves_its_neighbours_alone);
    tcase_add_test(tcase, one_class_leaves_nothing_to_learn);
    tcase_add_test(tcase, squared_error_is_a_mean_over_outputs_and_a_sum_over_rows);
    tcase_add_test(tcase, a_nan_stays_a_nan_in_the_squared_error);
    tcase_add_test(tcase, no_row_costs_nothing_and_touches_nothing);
    tcase_add_test(tcase, a_row_is_correct_where_its_largest_output_is_the_labels);
    suite_add_tcase(suite, tcase);
    return suite;
}
