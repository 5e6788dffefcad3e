/* Proof: what holds is said by rank 0, what fails by every rank, and all of it is counted. */
#include "common/proof.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stage {
    struct proof proof;
    FILE *out;
    char *text;
    size_t size_bytes;
};

static void stage_open(struct stage *stage, int rank, bool quiet)
{
    stage->out = open_memstream(&stage->text, &stage->size_bytes);
    ck_assert_ptr_nonnull(stage->out);
    proof_init(&stage->proof, stage->out, rank, quiet);
}

static void stage_close(struct stage *stage)
{
    fclose(stage->out);
    free(stage->text);
}

static const float left[3] = {1, 2, 3}, right[3] = {1, 2, 3.5};

static struct compare bits(const float *a, const float *b)
{
    struct compare compare = {0};
    compare_bits(&compare, a, b, 3);
    return compare;
}

static struct compare bounded(const float *a, const float *b, double bound)
{
    const double bounds[3] = {bound, bound, bound};
    struct compare compare = {0};
    compare_bounded(&compare, a, b, bounds, 3);
    return compare;
}

START_TEST(equal_bits_are_one_line_that_says_how_many)
{
    struct stage stage;
    struct compare compare = bits(left, left);
    stage_open(&stage, 0, false);
    ck_assert(proof_bits(&stage.proof, 4, "gradient = the other", &compare));
    ck_assert_str_eq(stage.text,
                     "verify step 4: gradient = the other | bit for bit, 3 floats | ok\n");
    ck_assert_uint_eq(stage.proof.lines, 1);
    ck_assert_uint_eq(stage.proof.failed, 0);
    stage_close(&stage);
}
END_TEST

START_TEST(different_bits_fail_with_their_distance)
{
    struct stage stage;
    struct compare compare = bits(left, right);
    stage_open(&stage, 0, false);
    ck_assert(!proof_bits(&stage.proof, 0, "a = b", &compare));
    ck_assert_str_eq(stage.text, "verify step 0: a = b | bit for bit, 1 of 3 floats differ, "
                                 "largest difference 0.5 | FAILED\n");
    ck_assert_uint_eq(stage.proof.failed, 1);
    stage_close(&stage);
}
END_TEST

START_TEST(a_bound_is_told_with_the_share_that_was_used)
{
    struct stage stage;
    struct compare near = bounded(left, right, 2), far = bounded(left, right, 0.25);
    stage_open(&stage, 0, false);
    ck_assert(proof_bounded(&stage.proof, 1, "a ~ b", &near));
    ck_assert(!proof_bounded(&stage.proof, 1, "a ~ b", &far));
    ck_assert_str_eq(stage.text,
                     "verify step 1: a ~ b | 3 floats, largest difference 0.5, at most 25 % of its "
                     "bound | ok\n"
                     "verify step 1: a ~ b | 1 of 3 floats beyond the bound, largest difference "
                     "0.5, at most 200 % of its bound | FAILED\n");
    stage_close(&stage);
}
END_TEST

START_TEST(a_nan_on_both_sides_fails)
{
    const float nan[3] = {0, NAN, 0};
    struct stage stage;
    struct compare same = bits(nan, nan), near = bounded(nan, nan, 1e30);
    stage_open(&stage, 0, false);
    ck_assert(!proof_bits(&stage.proof, 0, "a = a", &same));
    ck_assert(!proof_bounded(&stage.proof, 0, "a ~ a", &near));
    ck_assert_uint_eq(stage.proof.failed, 2);
    stage_close(&stage);
}
END_TEST

START_TEST(other_ranks_and_quiet_runs_say_only_what_fails)
{
    struct stage stage;
    struct compare good = bits(left, left), bad = bits(left, right);
    stage_open(&stage, _i, _i == 0);
    ck_assert(proof_bits(&stage.proof, 0, "a = a", &good));
    ck_assert(proof_holds(&stage.proof, 0, "b = b", "hashes", true));
    fflush(stage.out);
    ck_assert_uint_eq(stage.size_bytes, 0);
    ck_assert(!proof_bits(&stage.proof, 0, "a = b", &bad));
    static const char *const begins[] = {"verify step 0: a = b", "verify step 0, rank 1: a = b",
                                         "verify step 0, rank 2: a = b"};
    ck_assert_ptr_eq(strstr(stage.text, begins[_i]), stage.text);
    ck_assert_uint_eq(stage.proof.lines, 3);
    ck_assert_uint_eq(stage.proof.failed, 1);
    stage_close(&stage);
}
END_TEST

START_TEST(a_failure_is_placed)
{
    struct stage stage;
    stage_open(&stage, 0, false);
    struct proof_place place = {.tensor = "fc1.weight",
                                .index = 12,
                                .rank = 2,
                                .found = 1.00000012f,
                                .expected = 1,
                                .cause = "last bits only"};
    proof_failure_at(&stage.proof, &place);
    ck_assert_str_eq(stage.text, "    first at fc1.weight[12] of rank 2: found 1.00000012 "
                                 "(0x3f800001), expected 1 (0x3f800000); last bits only\n");
    ck_assert_uint_eq(stage.proof.lines, 0);
    stage_close(&stage);
}
END_TEST

static const struct {
    size_t lines, failed;
    const char *text;
} summaries[] = {{0, 0, "nothing was compared"},
                 {1, 0, "1 comparison, which holds"},
                 {12, 0, "12 comparisons, all hold"},
                 {12, 1, "12 comparisons, 1 FAILED"},
                 {1, 1, "1 comparison, 1 FAILED"}};

START_TEST(a_summary_counts)
{
    char text[PROOF_SUMMARY_BYTES];
    struct proof proof = {.lines = summaries[_i].lines, .failed = summaries[_i].failed};
    proof_summary(&proof, text);
    ck_assert_str_eq(text, summaries[_i].text);
}
END_TEST

START_TEST(what_nobody_prints_is_kept_for_the_record_and_never_more_than_there_is_room_for)
{
    struct stage stage;
    char what[2 * PROOF_WHAT_BYTES] = "";
    memset(what, 'w', sizeof what - 1);
    stage_open(&stage, 1, true);
    proof_holds(&stage.proof, 6, "gradient = the other", "hashes", true);
    for (int i = 0; i < 2 * PROOF_KEPT_MOST; i++)
        proof_holds(&stage.proof, 7, what, "hashes", false);
    const struct proof_line *kept = stage.proof.kept;
    ck_assert_uint_eq(stage.proof.kept_count, PROOF_KEPT_MOST);
    ck_assert(kept[0].step == 6 && kept[0].holds && kept[1].step == 7 && !kept[1].holds);
    ck_assert_str_eq(kept[0].what, "gradient = the other");
    ck_assert_str_eq(kept[0].how, "hashes");
    ck_assert_uint_eq(strlen(kept[1].what), PROOF_WHAT_BYTES - 1);
    ck_assert_uint_eq(stage.proof.lines, 2 * PROOF_KEPT_MOST + 1);
    stage_close(&stage);
}
END_TEST

Suite *proof_suite(void)
{
    Suite *suite = suite_create("proof");
    TCase *tcase = tcase_create("proof");
    tcase_add_test(tcase, equal_bits_are_one_line_that_says_how_many);
    tcase_add_test(tcase, different_bits_fail_with_their_distance);
    tcase_add_test(tcase, a_bound_is_told_with_the_share_that_was_used);
    tcase_add_test(tcase, a_nan_on_both_sides_fails);
    tcase_add_loop_test(tcase, other_ranks_and_quiet_runs_say_only_what_fails, 0, 3);
    tcase_add_test(tcase, a_failure_is_placed);
    tcase_add_test(tcase,
                   what_nobody_prints_is_kept_for_the_record_and_never_more_than_there_is_room_for);
    tcase_add_loop_test(tcase, a_summary_counts, 0, sizeof summaries / sizeof *summaries);
    suite_add_tcase(suite, tcase);
    return suite;
}
