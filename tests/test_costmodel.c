/* The cost model: every formula against numbers worked by hand, the fit, the crossovers. */
#include "lesson02_allreduce/costmodel.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = ALGORITHM_AUTO };

/* Round numbers: a message 1000 s, a byte 1 s, an addition of a byte half a second. */
static const struct cost_link round_link = {1000, 1, 0.5, 0};
/* The same without additions, for crossovers that can be read off the formulas. */
static const struct cost_link plain_link = {1000, 1, 0, 0};

/* --- formulas -------------------------------------------------------------------------------- */

/* 12000 bytes. Ring, 4 ranks: 6 messages, 18000 bytes, 9000 added: 6000 + 18000 + 4500. Halving, 5
 * ranks: 4 + 2 messages, 18000 + 24000 bytes, 9000 + 12000 added: 6000 + 42000 + 10500. */
static const struct {
    int world, cores;
    size_t bytes;
    double ring, root, tree, halving, direct; // in the enum's order
} worked[] = {
    {1, 0, 12000, 0, 0, 0, 0, 0},
    {2, 0, 12000, 17000, 32000, 32000, 17000, 19000}, // direct, whole: 1000 + 12000 + 6000
    {3, 0, 12000, 24000, 62000, 64000, 49000, 22000},
    {4, 0, 12000, 28500, 92000, 64000, 26500, 24500},
    {5, 0, 12000, 32000, 122000, 96000, 58500, 26000},
    {4, 0, 100, 6187.5, 2750, 4500, 4187.5, 1450}, // direct sends it whole: 1000 + 300 + 150
    {4, 0, 0, 6000, 2000, 4000, 4000, 1000},
    /* 4 ranks on 4 cores share nothing, on 2 those that work all the time take twice as long, and
     * root, where one rank works, takes no longer. Tree: 3/2 ranks at a time. */
    {4, 4, 12000, 28500, 92000, 64000, 26500, 24500},
    {4, 2, 12000, 57000, 92000, 64000, 53000, 49000},
    {4, 1, 12000, 114000, 92000, 96000, 106000, 98000},
    {5, 2, 12000, 80000, 122000, 96000, 58500 * 96 / 84.0, 65000},
    {4, 2, 100, 12375, 2750, 4500, 8375, 2900},
};
enum { WORKED = sizeof worked / sizeof *worked };

START_TEST(every_formula_gives_what_a_hand_worked_out)
{
    const double expected[ALGORITHMS] = {worked[_i].ring, worked[_i].root, worked[_i].tree,
                                         worked[_i].halving, worked[_i].direct};
    struct cost_link link = round_link;
    link.cores = worked[_i].cores;
    double least = INFINITY;
    for (int i = 0; i < ALGORITHMS; i++) {
        double found =
            costmodel_predict(&link, (enum algorithm)i, worked[_i].world, worked[_i].bytes);
        ck_assert_msg(fabs(found - expected[i]) < 1e-9 * (1 + expected[i]),
                      "%s: expected %.9g, found %.9g", algorithm_name((enum algorithm)i),
                      expected[i], found);
        least = fmin(least, found);
    }
    ck_assert_double_eq(
        costmodel_predict(&link, ALGORITHM_AUTO, worked[_i].world, worked[_i].bytes), least);
}
END_TEST

/* Whoever counts what all ranks send must come to what a rank sends times the ranks. */
START_TEST(no_algorithm_sends_less_than_the_bound)
{
    for (int world = 2; world <= 33; world++)
        for (int i = 0; i < ALGORITHMS; i++) {
            struct cost_terms terms = costmodel_terms((enum algorithm)i, world, 1 << 20);
            double bound = 2.0 * (1 << 20) * (world - 1) / world;
            ck_assert_double_ge(terms.bytes, bound * (1 - 1e-12));
            ck_assert_double_ge(terms.total_bytes, world * bound * (1 - 1e-12));
            ck_assert_double_ge(terms.reduced_bytes, bound / 2 * (1 - 1e-12));
            ck_assert_double_ge(terms.messages, 2);
        }
}
END_TEST

/* --- the fit --------------------------------------------------------------------------------- */

static void check_fit(const struct cost_sample *samples, size_t count, double alpha, double beta,
                      double tolerance)
{
    struct cost_link link = {.gamma_seconds = 7, .cores = 3};
    ck_assert_int_eq(costmodel_fit(&link, samples, count), 0);
    ck_assert_msg(fabs(link.alpha_seconds - alpha) <= tolerance * alpha, "alpha %.9g",
                  link.alpha_seconds);
    ck_assert_msg(fabs(link.beta_seconds - beta) <= tolerance * beta, "beta %.9g",
                  link.beta_seconds);
    ck_assert_double_eq(link.gamma_seconds, 7);
    ck_assert_int_eq(link.cores, 3);
}

START_TEST(the_example_of_the_derivation_comes_out)
{
    static const struct cost_sample samples[] = {{0, 1}, {1, 2}, {2, 4}};
    check_fit(samples, 3, 32.0 / 33, 14.0 / 11, 1e-14);
}
END_TEST

/* Errors of up to 5 %, up and down by turns. */
START_TEST(a_noisy_line_is_found_from_4_bytes_to_64_mib)
{
    static const double noise[] = {0.05, -0.03, -0.05, 0.02, 0.04, -0.04, 0.01};
    struct cost_sample samples[25];
    size_t count = 0;
    for (size_t bytes = 4; bytes <= (size_t)64 << 20; bytes *= 2) {
        samples[count] = (struct cost_sample){bytes, 12e-6 + 0.4e-9 * (double)bytes};
        samples[count].seconds *= 1 + noise[count % 7];
        count++;
    }
    check_fit(samples, count, 12e-6, 0.4e-9, 0.03);
}
END_TEST

/* Three seconds per byte from the first on would begin at -2: the best through 0 is
 * (1 + 8/16) / (1 + 4/16). And what falls with size: the mean, weighted (1/2 + 1) / (1/4 + 1). */
START_TEST(neither_alpha_nor_beta_is_negative)
{
    static const struct cost_sample steep[] = {{1, 1}, {2, 4}}, falling[] = {{1, 2}, {2, 1}};
    check_fit(steep, 2, 0, 1.2, 1e-14);
    check_fit(falling, 2, 1.2, 0, 1e-14);
}
END_TEST

START_TEST(what_is_no_line_is_refused)
{
    static const struct cost_sample alike[] = {{8, 1}, {8, 2}}, zero[] = {{1, 0}, {2, 1}},
                                    none[] = {{1, NAN}, {2, 1}}, past[] = {{1, 1}, {2, -1}};
    struct cost_link link = {0};
    ck_assert_int_eq(costmodel_fit(&link, alike, 0), -EINVAL);
    ck_assert_int_eq(costmodel_fit(&link, alike, 1), -EINVAL);
    ck_assert_int_eq(costmodel_fit(&link, alike, 2), -EINVAL);
    ck_assert_int_eq(costmodel_fit(&link, zero, 2), -EINVAL);
    ck_assert_int_eq(costmodel_fit(&link, none, 2), -EINVAL);
    ck_assert_int_eq(costmodel_fit(&link, past, 2), -EINVAL);
}
END_TEST

/* --- crossovers ------------------------------------------------------------------------------ */

/* 4 ranks: tree 4000 + 4 n, ring 6000 + 1.5 n: equal at 800. Ring and direct differ in messages
 * only. Root and tree of 2 ranks are the same. */
START_TEST(a_crossover_is_where_the_formulas_meet)
{
    const struct cost_link *link = &plain_link;
    ck_assert_uint_eq(costmodel_crossover(link, ALGORITHM_TREE, ALGORITHM_RING, 4), 801);
    ck_assert_uint_eq(costmodel_crossover(link, ALGORITHM_RING, ALGORITHM_TREE, 4), 0);
    ck_assert_uint_eq(costmodel_crossover(link, ALGORITHM_RING, ALGORITHM_DIRECT, 4),
                      COST_LEAST_BYTES);
    ck_assert_uint_eq(costmodel_crossover(link, ALGORITHM_DIRECT, ALGORITHM_RING, 4), 0);
    ck_assert_uint_eq(costmodel_crossover(link, ALGORITHM_ROOT, ALGORITHM_TREE, 2), 0);
}
END_TEST

/* 4 ranks: direct 1000 + 3 n while it sends all whole, halving 4000 + 1.5 n: equal at 2000,
 * where the first in the enum counts. Above 8 KiB direct takes 2000 + 1.5 n. */
START_TEST(ranges_name_who_leads_from_where)
{
    struct cost_range ranges[COST_RANGES_MOST];
    ck_assert_uint_eq(costmodel_ranges(&plain_link, 4, ranges), 3);
    ck_assert_uint_eq(ranges[0].from_bytes, COST_LEAST_BYTES);
    ck_assert_int_eq(ranges[0].algorithm, ALGORITHM_DIRECT);
    ck_assert_uint_eq(ranges[1].from_bytes, 2000);
    ck_assert_int_eq(ranges[1].algorithm, ALGORITHM_HALVING);
    ck_assert_uint_eq(ranges[2].from_bytes, algorithm_direct_whole_bytes(4) + 1);
    ck_assert_int_eq(ranges[2].algorithm, ALGORITHM_DIRECT);
}
END_TEST

START_TEST(ranges_agree_with_the_best_of_every_size)
{
    static const struct cost_link links[] = {
        {1000, 1, 0.5, 0},        {1000, 1, 0, 2}, {20e-6, 4e-10, 1e-10, 2},
        {20e-6, 4e-10, 1e-10, 0}, {0, 1, 0, 0},    {1, 0, 0, 1}};
    const struct cost_link *link = &links[_i];
    for (int world = 1; world <= 9; world++) {
        struct cost_range ranges[COST_RANGES_MOST];
        size_t count = costmodel_ranges(link, world, ranges), at = 0;
        for (size_t bytes = COST_LEAST_BYTES; bytes <= COST_MOST_BYTES; bytes += 1 + bytes / 64) {
            while (at + 1 < count && ranges[at + 1].from_bytes <= bytes)
                at++;
            ck_assert_double_le(costmodel_predict(link, ranges[at].algorithm, world, bytes),
                                costmodel_predict(link, ALGORITHM_AUTO, world, bytes) *
                                    (1 + 1e-12));
        }
    }
}
END_TEST

/* --- what is printed ------------------------------------------------------------------------- */

static char *printed_ranges(const struct cost_link *link, int world)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    costmodel_print_ranges(out, link, world);
    fclose(out);
    return text;
}

START_TEST(ranges_are_told_in_one_line)
{
    static const struct {
        int world;
        const char *line;
    } told[] = {
        {1, "every size: ring\n"},
        {2, "up to 256.0 KiB: direct; from there: ring\n"},
        {4, "up to 2.0 KiB: direct; up to 8.0 KiB: halving; from there: direct\n"},
    };
    char *text = printed_ranges(&plain_link, told[_i].world);
    ck_assert_str_eq(text, told[_i].line);
    free(text);
}
END_TEST

/* Direct 300 + 3 n, halving 1200 + 1.5 n: equal at 600. */
START_TEST(a_range_ends_with_its_last_byte)
{
    static const struct cost_link link = {300, 1, 0, 0};
    char *text = printed_ranges(&link, 4);
    ck_assert_str_eq(text, "up to 599 B: direct; up to 8.0 KiB: halving; from there: direct\n");
    free(text);
}
END_TEST

Suite *costmodel_suite(void)
{
    Suite *suite = suite_create("costmodel");
    TCase *tcase = tcase_create("costmodel");
    tcase_add_loop_test(tcase, every_formula_gives_what_a_hand_worked_out, 0, WORKED);
    tcase_add_test(tcase, no_algorithm_sends_less_than_the_bound);
    tcase_add_test(tcase, the_example_of_the_derivation_comes_out);
    tcase_add_test(tcase, a_noisy_line_is_found_from_4_bytes_to_64_mib);
    tcase_add_test(tcase, neither_alpha_nor_beta_is_negative);
    tcase_add_test(tcase, what_is_no_line_is_refused);
    tcase_add_test(tcase, a_crossover_is_where_the_formulas_meet);
    tcase_add_test(tcase, ranges_name_who_leads_from_where);
    tcase_add_loop_test(tcase, ranges_agree_with_the_best_of_every_size, 0, 6);
    tcase_add_loop_test(tcase, ranges_are_told_in_one_line, 0, 3);
    tcase_add_test(tcase, a_range_ends_with_its_last_byte);
    suite_add_tcase(suite, tcase);
    return suite;
}
