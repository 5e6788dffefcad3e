/* Masks belong to samples: whoever has a sample, in whatever order, leaves the same units out. */
#include "lesson01_single/dropout.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 13, ROWS = 5, LAYER = 2 };

static const uint32_t samples[ROWS] = {7, 0, 1437, 59999, 8};
static const struct dropout half = {.rate = 0.5f, .seed = 3, .step = 4, .samples = samples};

/* Which of 24 units are kept, as bits. */
static uint32_t mask_of(const struct dropout *dropout, uint32_t sample, size_t layer, size_t unit)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < 24; i++)
        mask = mask << 1 | (dropout_factor(dropout, sample, layer, unit + i) > 0);
    return mask;
}

START_TEST(a_mask_repeats_and_differs_by_seed_step_sample_layer_and_unit)
{
    struct dropout other_seed = half, other_step = half, far_step = half;
    other_seed.seed = 4;
    other_step.step = 5;
    far_step.step = (size_t)1 << 40;
    uint32_t mask = mask_of(&half, 7, 0, 0);
    ck_assert_uint_eq(mask, mask_of(&half, 7, 0, 0));
    ck_assert_uint_ne(mask, mask_of(&other_seed, 7, 0, 0));
    ck_assert_uint_ne(mask, mask_of(&other_step, 7, 0, 0));
    ck_assert_uint_ne(mask, mask_of(&far_step, 7, 0, 0));
    ck_assert_uint_ne(mask, mask_of(&half, 8, 0, 0));
    ck_assert_uint_ne(mask, mask_of(&half, 7, 1, 0));
    ck_assert_uint_ne(mask, mask_of(&half, 7, 0, 24));
    ck_assert_uint_ne(mask, mask_of(&half, 7, 0, 999976)); // the widest layer's last units
    ck_assert_uint_ne(mask_of(&half, 7, 1, 0), mask_of(&half, 7, 0, 999976));
}
END_TEST

/* Within five standard errors of P; and what is kept is scaled so that the mean stays. */
START_TEST(as_many_are_left_out_as_asked)
{
    static const float rates[] = {0.1f, 0.5f, 0.9f};
    struct dropout dropout = {.rate = rates[_i], .seed = 1};
    enum { DRAWS = 40000 };
    size_t left_out = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        float factor = dropout_factor(&dropout, i / 100, 0, i % 100);
        left_out += factor == 0;
        ck_assert(factor == 0 || factor == 1 / (1 - rates[_i]));
    }
    double p = (double)rates[_i], share = (double)left_out / DRAWS;
    ck_assert_msg(fabs(share - p) < 5 * sqrt(p * (1 - p) / DRAWS), "%g of %g", share, p);
}
END_TEST

START_TEST(forward_multiplies_each_unit_by_its_own_factor)
{
    static const size_t widths[] = {1, 3, 4, 5, 8, WIDTH};
    size_t width = widths[_i];
    float y[ROWS * WIDTH];
    for (size_t i = 0; i < ROWS * width; i++)
        y[i] = (float)(i + 1);
    dropout_forward(&half, LAYER, y, ROWS, width);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t unit = 0; unit < width; unit++) {
            size_t i = row * width + unit;
            float factor = dropout_factor(&half, samples[row], LAYER, unit);
            ck_assert_msg(y[i] == factor * (float)(i + 1), "row %zu, unit %zu", row, unit);
        }
}
END_TEST

/* Another rank's share, or the next micro-batch, has other rows. */
START_TEST(a_samples_mask_does_not_depend_on_its_row)
{
    static const uint32_t turned[ROWS] = {8, 59999, 1437, 0, 7};
    struct dropout other = half;
    float here[ROWS * WIDTH], there[ROWS * WIDTH];
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        here[i] = there[i] = 1;
    other.samples = turned;
    dropout_forward(&half, LAYER, here, ROWS, WIDTH);
    dropout_forward(&other, LAYER, there, ROWS, WIDTH);
    for (size_t row = 0; row < ROWS; row++)
        ck_assert(memcmp(here + row * WIDTH, there + (ROWS - 1 - row) * WIDTH,
                         WIDTH * sizeof *here) == 0);
    ck_assert(memcmp(here, there, WIDTH * sizeof *here) != 0);
}
END_TEST

START_TEST(without_a_rate_nothing_changes)
{
    static const struct dropout none = {.rate = 0};
    float y[3] = {1, -2, 3};
    dropout_forward(&none, 0, y, 1, 3); // no samples are looked at
    dropout_backward(&none, y, 3);
    ck_assert(y[0] == 1 && y[1] == -2 && y[2] == 3);
    ck_assert(dropout_factor(&none, 9, 0, 5) == 1);
}
END_TEST

START_TEST(a_nan_is_seen_though_its_unit_is_left_out)
{
    float y[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        y[i] = NAN;
    dropout_forward(&half, LAYER, y, 1, WIDTH);
    for (size_t i = 0; i < WIDTH; i++)
        ck_assert(isnan(y[i]));
}
END_TEST

START_TEST(backward_scales_what_passed)
{
    float dy[3] = {0, 3, -1};
    dropout_backward(&half, dy, 3);
    ck_assert(dy[0] == 0 && dy[1] == 6 && dy[2] == -2);
}
END_TEST

/* One seed for all ranks: what differs is the samples, and with them the masks. */
START_TEST(ranks_of_one_seed_have_different_masks)
{
    enum { RANKS = 4, SHARE = 16 };
    uint32_t masks[RANKS][SHARE];
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < SHARE; i++)
            masks[rank][i] = mask_of(&half, rank * SHARE + i, 0, 0);
    for (size_t rank = 1; rank < RANKS; rank++)
        ck_assert(memcmp(masks[0], masks[rank], sizeof masks[0]) != 0);
}
END_TEST

/* The rate is 0: both runs end with the first parameters, and evaluate those. */
START_TEST(evaluation_leaves_nothing_out)
{
    static const char set[] = "--steps 2 --lr 0 --momentum 0 --seed 5";
    struct folder folder;
    struct program program;
    char told[2][64] = {"", ""}, arguments[128];
    folder_open(&folder);
    for (int i = 0; i < 2; i++) {
        snprintf(arguments, sizeof arguments, "%s %s", set, i ? "--dropout 0.9" : "");
        lesson_run(&program, &folder, (struct lesson){2, 2}, arguments);
        const char *at = strstr(program.out, "test loss ");
        ck_assert_msg(program.code == 0 && at, "%s%s", program.out, program.err);
        snprintf(told[i], sizeof told[i], "%.40s", at);
        program_close(&program);
    }
    ck_assert_str_eq(told[0], told[1]);
    folder_close(&folder);
}
END_TEST

Suite *dropout_suite(void)
{
    Suite *suite = suite_create("dropout");
    TCase *tcase = tcase_create("dropout");
    tcase_add_test(tcase, a_mask_repeats_and_differs_by_seed_step_sample_layer_and_unit);
    tcase_add_loop_test(tcase, as_many_are_left_out_as_asked, 0, 3);
    tcase_add_loop_test(tcase, forward_multiplies_each_unit_by_its_own_factor, 0, 6);
    tcase_add_test(tcase, a_samples_mask_does_not_depend_on_its_row);
    tcase_add_test(tcase, without_a_rate_nothing_changes);
    tcase_add_test(tcase, a_nan_is_seen_though_its_unit_is_left_out);
    tcase_add_test(tcase, backward_scales_what_passed);
    tcase_add_test(tcase, ranks_of_one_seed_have_different_masks);
    tcase_add_test(tcase, evaluation_leaves_nothing_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
