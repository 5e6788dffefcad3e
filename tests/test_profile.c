/* Profile: no microsecond is counted twice or left out. */
#include "common/profile.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double sum_of(const double *seconds)
{
    double sum = 0;
    for (int cost = 0; cost < PROFILE_COSTS; cost++)
        sum += seconds[cost];
    return sum;
}

START_TEST(the_kinds_sum_is_the_step)
{
    struct profile profile = {0};
    profile_step(&profile);
    double began = profile.latest_seconds;
    for (int i = 0; i < 1000; i++)
        profile_lap(&profile, (enum profile_cost)(i % PROFILE_COSTS));
    double took = profile.latest_seconds - began;
    ck_assert(took > 0);
    /* Each of the additions rounds once, relative to a sum no larger than `took`; and each
     * difference of two clock readings is exact or rounds likewise. */
    ck_assert_msg(fabs(sum_of(profile.step) - took) <= 2000 * 0x1p-53 * (took + began),
                  "%.17g is not %.17g", sum_of(profile.step), took);
    ck_assert_uint_eq(profile.step_laps, 1000);
}
END_TEST

START_TEST(only_steps_that_count_are_counted)
{
    struct profile profile = {0};
    for (int step = 0; step < 5; step++) {
        profile_step(&profile);
        profile_lap(&profile, PROFILE_GEMM);
        profile_lap(&profile, step == 2 ? PROFILE_LOSS : PROFILE_DATA);
        profile_end(&profile, step != 2);
    }
    ck_assert_uint_eq(profile.steps, 4);
    ck_assert_uint_eq(profile.laps, 8);
    ck_assert(profile.seconds[PROFILE_GEMM] > 0 && profile.seconds[PROFILE_DATA] > 0);
    ck_assert(profile.seconds[PROFILE_LOSS] == 0);
}
END_TEST

START_TEST(a_profile_that_is_off_does_nothing)
{
    profile_step(NULL);
    profile_lap(NULL, PROFILE_GEMM);
    profile_end(NULL, true);
}
END_TEST

/* The number of a row: "  gemm   1.0   2.2 %". */
static double number_of(const char *text, const char *row, int column)
{
    const char *at = strstr(text, row);
    ck_assert_msg(at != NULL, "no row '%s' in\n%s", row, text);
    char *end = (char *)(uintptr_t)(at + strlen(row));
    double number = strtod(end, &end);
    return column ? strtod(end, NULL) : number;
}

START_TEST(the_table_has_a_row_for_each_kind_and_the_sum)
{
    char text[4096] = "";
    struct profile_table table = {.steps = 9, .laps = 20, .lap_seconds = 0.5e-6, .world = 1 + _i};
    for (int cost = 0; cost < PROFILE_COSTS; cost++) {
        table.mine[cost] = cost + 1;
        table.least[cost] = cost;
        table.most[cost] = cost + 2;
    }
    FILE *out = fmemopen(text, sizeof text, "w");
    profile_print(&table, out);
    fclose(out);
    ck_assert(number_of(text, "  gemm", 0) == 1);
    ck_assert(number_of(text, "  other", 0) == PROFILE_COSTS);
    ck_assert(number_of(text, "  the update", 0) == PROFILE_COSTS * (PROFILE_COSTS + 1) / 2);
    ck_assert(number_of(text, "  the update", 1) == 100);
    ck_assert_ptr_nonnull(strstr(text, "20 looks at the clock, about 10.0 ("));
    ck_assert((strstr(text, "least and most of all ranks") != NULL) == (_i == 1));
}
END_TEST

Suite *profile_suite(void)
{
    Suite *suite = suite_create("profile");
    TCase *tcase = tcase_create("profile");
    tcase_add_test(tcase, the_kinds_sum_is_the_step);
    tcase_add_test(tcase, only_steps_that_count_are_counted);
    tcase_add_test(tcase, a_profile_that_is_off_does_nothing);
    tcase_add_loop_test(tcase, the_table_has_a_row_for_each_kind_and_the_sum, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
