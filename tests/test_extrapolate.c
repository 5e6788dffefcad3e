/* Many hosts: both formulas against numbers worked by hand, and what the table says of itself. */
#include "lesson02_allreduce/extrapolate.h"
#include "tests/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Inner: 1 s, 1/1000 s, 8/10000 s. Outer: 10 s, 1/100 s. 64 ranks, 64000 bytes.
 * Flat: 126 x 10 + 126000/100 + 63000 x 8/10000. Hierarchical: within, 14 + 112 + 44.8; between,
 * 14 x 10 + 112000/100 + 7000 x 8/10000. */
START_TEST(a_hierarchy_costs_what_a_hand_worked_out)
{
    static const struct cost_link inner = {1, 1e-3, 8e-4, 2}, outer = {10, 1e-2, 0, 0};
    ck_assert_double_eq_tol(extrapolate_flat(&inner, &outer, 64, 64000), 2570.4, 1e-9);
    ck_assert_double_eq_tol(extrapolate_hierarchical(&inner, &outer, 64, 64000), 1436.4, 1e-9);
    ck_assert_double_eq_tol(extrapolate_flat(&inner, &outer, 8, 64000), 170.8, 1e-9);
    ck_assert_double_eq_tol(extrapolate_hierarchical(&inner, &outer, 8, 64000), 170.8, 1e-9);
}
END_TEST

/* 4096 ranks, 1 GiB. Flat: 8190 x 30 us + 2 GiB x 0.4 ns + 1 GiB x 0.1 ns, 4095/4096 of both.
 * In layers: 14 x 20 us + 7/8 GiB x 0.9 ns, then 1022 x 30 us + 511/512 of 2 GiB x 0.32 ns and of
 * 1/8 GiB x 0.1 ns. Where a host's inside is slower than what leads out of it, layers lose. */
START_TEST(the_table_shows_its_assumptions_and_omissions)
{
    static const struct cost_link inner = {20e-6, 4e-10, 1e-10, 2};
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    extrapolate_print(out, &inner);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "measured here: alpha 20 us, 20 Gbit/s, adding 10 GB/s"));
    ck_assert_ptr_nonnull(strstr(text, "assumed: alpha 30 us, 25 Gbit/s, one link per host"));
    ck_assert_ptr_nonnull(strstr(text, "a core for every rank"));
    ck_assert_ptr_nonnull(strstr(text, "what the model leaves out"));
    ck_assert_ptr_nonnull(strstr(text, "congestion"));
    ck_assert_ptr_nonnull(
        strstr(text, "|  4096 |   512 |     1024 |     1211.832 |     1575.760 |     0.77 |"));
    size_t rows = 0;
    for (const char *row = text; (row = strstr(row, "\n| ")) != NULL; row++)
        rows++;
    ck_assert_uint_eq(rows, 1 + 4 * 3);
    free(text);
}
END_TEST

Suite *extrapolate_suite(void)
{
    Suite *suite = suite_create("extrapolate");
    TCase *tcase = tcase_create("extrapolate");
    tcase_add_test(tcase, a_hierarchy_costs_what_a_hand_worked_out);
    tcase_add_test(tcase, the_table_shows_its_assumptions_and_omissions);
    suite_add_tcase(suite, tcase);
    return suite;
}
