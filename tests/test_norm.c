/* The norm's bits do not depend on how a vector is cut, and its value is the right one. */
#include "lesson01_single/norm.h"
#include "common/rng.h"
#include "common/slice.h"
#include "tests/suites.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { COUNT = 1009 };

/* Values of both signs, their sizes spread evenly over 1e-low .. 1e+high. */
struct spread {
    double low, high;
};

static const struct spread spreads[] = {{0, 0}, {-1, 1}, {-30, 30}, {-44, -38}, {37, 38}};
enum { SPREADS = sizeof spreads / sizeof *spreads };

static void fill(float *x, size_t count, struct spread spread, uint32_t sub)
{
    struct rng rng = {.seed = 3, .stream = RNG_TEST, .sub = sub};
    for (size_t i = 0; i < count; i++) {
        double share = (double)rng_uniform(&rng, 2 * i);
        double size = pow(10, spread.low + (spread.high - spread.low) * share);
        x[i] = (float)(rng_uniform(&rng, 2 * i + 1) < 0.5f ? -size : size);
    }
}

/* As `parts` ranks would: each its own sums, then the sums are added, from the last to the
 * first. */
static double norm_in_parts(const float *x, size_t count, size_t parts, uint32_t sub)
{
    struct rng rng = {.seed = 4, .stream = RNG_TEST, .sub = sub};
    struct norm whole = norm_grid(norm_largest(x, count), count);
    struct norm grid = whole;
    size_t end = count;
    for (size_t part = parts; part-- > 0;) {
        size_t begin = part == 0 ? 0 : rng_bits(&rng, part) % (end + 1);
        struct norm own = grid;
        norm_add(&own, x + begin, end - begin);
        whole.sum[0] += own.sum[0];
        whole.sum[1] += own.sum[1];
        end = begin;
    }
    return norm_value(&whole);
}

START_TEST(any_cut_gives_the_same_bits)
{
    float x[COUNT];
    fill(x, COUNT, spreads[_i], 1);
    double whole = norm_of(x, COUNT);
    for (uint32_t cut = 0; cut < 200; cut++) {
        double parts = norm_in_parts(x, COUNT, 1 + cut % 9, cut);
        ck_assert(memcmp(&whole, &parts, sizeof whole) == 0);
    }
}
END_TEST

START_TEST(every_single_split_point_gives_the_same_bits)
{
    float x[129];
    fill(x, 129, spreads[2], 2);
    double whole = norm_of(x, 129);
    for (size_t split = 0; split <= 129; split++) {
        struct norm norm = norm_grid(norm_largest(x, 129), 129);
        norm_add(&norm, x + split, 129 - split);
        norm_add(&norm, x, split);
        ck_assert(norm_value(&norm) == whole);
    }
}
END_TEST

/* One large element and many whose squares vanish on its grid: all of them end up on the finer
 * one, with the same sign, and must not outgrow it. The parts' sums themselves are compared. */
START_TEST(what_falls_through_the_coarse_grid_is_summed_exactly_too)
{
    struct rng rng = {.seed = 6, .stream = RNG_TEST};
    float x[COUNT] = {1};
    for (size_t i = 1; i < COUNT; i++)
        x[i] = ldexpf(1 + rng_uniform(&rng, i), -22);
    struct norm grid = norm_grid(norm_largest(x, COUNT), COUNT), whole = grid;
    norm_add(&whole, x, COUNT);
    ck_assert(whole.sum[0] == 1 && whole.sum[1] > 0);
    for (size_t split = 0; split <= COUNT; split++) {
        struct norm left = grid, right = grid;
        norm_add(&left, x, split);
        norm_add(&right, x + split, COUNT - split);
        ck_assert(right.sum[1] + left.sum[1] == whole.sum[1]);
    }
}
END_TEST

START_TEST(any_order_of_the_elements_gives_the_same_bits)
{
    float x[COUNT], shuffled[COUNT];
    uint32_t order[COUNT];
    struct rng rng = {.seed = 5, .stream = RNG_TEST};
    rng_permutation(&rng, order, COUNT);
    fill(x, COUNT, spreads[_i], 3);
    for (size_t i = 0; i < COUNT; i++)
        shuffled[i] = x[order[i]];
    ck_assert(norm_of(shuffled, COUNT) == norm_of(x, COUNT));
}
END_TEST

static bool plain_sum_depends_on_order(const float *x)
{
    double up = 0, down = 0;
    for (size_t i = 0; i < COUNT; i++)
        up += (double)x[i] * (double)x[i];
    for (size_t i = COUNT; i-- > 0;)
        down += (double)x[i] * (double)x[i];
    return up != down;
}

/* A plain float or double sum would pass the tests above by luck on few elements; on these it
 * does not. Now and then two orders agree: many vectors are asked. */
START_TEST(the_test_vectors_tell_orders_of_a_plain_sum_apart)
{
    enum { VECTORS = 16 };
    float x[COUNT];
    int apart = 0;
    for (uint32_t sub = 0; sub < VECTORS; sub++) {
        fill(x, COUNT, spreads[1], sub);
        apart += plain_sum_depends_on_order(x);
    }
    ck_assert_int_gt(apart, VECTORS / 4);
}
END_TEST

/* Relative: the sum's last rounding, halved by the root, 2^-54; the root's 2^-53; the long double
 * sum's count 2^-64, halved; what is left of the squares, 2^-101 count^3. Below 2^-52 in all. */
START_TEST(the_value_is_that_of_a_long_double_sum)
{
    volatile long double one = 1; // valgrind gives it a double's digits: nothing to compare with
    if (one + LDBL_EPSILON == one)
        return;
    static const size_t counts[] = {1, 2, 3, 64, 1000, COUNT};
    float x[COUNT];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        fill(x, counts[i], spreads[_i], 7 + (uint32_t)i);
        long double sum = 0;
        for (size_t j = 0; j < counts[i]; j++)
            sum += (long double)x[j] * (long double)x[j];
        long double expected = sqrtl(sum);
        ck_assert(fabsl((long double)norm_of(x, counts[i]) - expected) <= 0x1p-52L * expected);
    }
}
END_TEST

START_TEST(hand_worked_norms_are_exact)
{
    static const float pythagoras[2] = {-3, 4}, far[3] = {0x1p60f, 0, 0};
    static const float tiny = 0x1p-149f;
    ck_assert(norm_of(pythagoras, 2) == 5);
    ck_assert(norm_of(far, 3) == 0x1p60);
    ck_assert(norm_of(&tiny, 1) == 0x1p-149);
}
END_TEST

START_TEST(no_elements_and_zeros_have_norm_zero)
{
    static const float zeros[3] = {0, -0.0f, 0};
    ck_assert(norm_of(zeros, 0) == 0);
    ck_assert(norm_of(zeros, 3) == 0);
    ck_assert(norm_largest(zeros, 0) == 0);
}
END_TEST

/* Only one part holds the bad element; the norm of all must show it. */
START_TEST(one_bad_element_of_one_part_is_seen_in_the_norm_of_all)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float x[COUNT];
    fill(x, COUNT, spreads[1], 9);
    x[COUNT / 3] = bad[_i];
    ck_assert(_i < 2 ? isnan(norm_largest(x, COUNT)) : isinf(norm_largest(x, COUNT)));
    ck_assert(!isfinite(norm_of(x, COUNT)));
    for (uint32_t cut = 0; cut < 20; cut++)
        ck_assert(!isfinite(norm_in_parts(x, COUNT, 4, cut)));
}
END_TEST

START_TEST(a_nan_is_larger_than_an_infinity)
{
    static const float x[3] = {INFINITY, NAN, 1};
    ck_assert(isnan(norm_largest(x, 3)));
}
END_TEST

/* Gradients (6, 0) and (0, 8) of two ranks: their mean is (3, 4). */
START_TEST(clipping_after_the_mean_gives_three_fifths_and_four_fifths)
{
    static const float mean[2] = {3, 4};
    float clip = norm_clip(norm_of(mean, 2), 1);
    ck_assert(fabs((double)(clip * mean[0]) - 0.6) < 1e-6);
    ck_assert(fabs((double)(clip * mean[1]) - 0.8) < 1e-6);
    ck_assert(clip * 5 <= 1); // not longer than asked for, not even by a bit
}
END_TEST

START_TEST(a_short_gradient_is_clipped_only_as_pytorch_would)
{
    ck_assert(norm_clip(0.5, 1) == 1);
    ck_assert(norm_clip(0, 1) == 1);
    ck_assert(norm_clip(5, 0) == 1);          // no clipping was asked for
    ck_assert(norm_clip(1e-6, 1e-6) == 0.5f); // PyTorch adds 1e-6 to the norm it divides by
}
END_TEST

Suite *norm_suite(void)
{
    Suite *suite = suite_create("norm");
    TCase *tcase = tcase_create("norm");
    tcase_add_loop_test(tcase, any_cut_gives_the_same_bits, 0, SPREADS);
    tcase_add_test(tcase, every_single_split_point_gives_the_same_bits);
    tcase_add_test(tcase, what_falls_through_the_coarse_grid_is_summed_exactly_too);
    tcase_add_loop_test(tcase, any_order_of_the_elements_gives_the_same_bits, 0, SPREADS);
    tcase_add_test(tcase, the_test_vectors_tell_orders_of_a_plain_sum_apart);
    tcase_add_loop_test(tcase, the_value_is_that_of_a_long_double_sum, 0, SPREADS);
    tcase_add_test(tcase, hand_worked_norms_are_exact);
    tcase_add_test(tcase, no_elements_and_zeros_have_norm_zero);
    tcase_add_loop_test(tcase, one_bad_element_of_one_part_is_seen_in_the_norm_of_all, 0, 4);
    tcase_add_test(tcase, a_nan_is_larger_than_an_infinity);
    tcase_add_test(tcase, clipping_after_the_mean_gives_three_fifths_and_four_fifths);
    tcase_add_test(tcase, a_short_gradient_is_clipped_only_as_pytorch_would);
    suite_add_tcase(suite, tcase);
    return suite;
}
