/* The program `verify` on real dumps: equal ones, and every way in which they are not. */
#include "common/tensorfile.h"
#include "tests/dumps.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- equal ----------------------------------------------------------------------------------- */

static const struct {
    size_t a_world, b_world;
    bool a_sharded, b_sharded;
    const char *said;
} layouts[] = {
    {1, 1, false, false, "step 0  grad      15 floats: 2 tensors, 1 rank  ok: bit for bit"},
    {1, 4, false, false, "step 0  param     60 floats: 2 tensors, 4 ranks  ok: bit for bit"},
    {4, 1, false, false, "step 0  grad      60 floats: 2 tensors, 4 ranks  ok: bit for bit"},
    {2, 3, false, false, "step 0  grad      45 floats: 2 tensors, 3 ranks  ok: bit for bit"},
    {1, 4, false, true, "step 0  grad      15 floats: 2 tensors in parts, 4 ranks  ok"},
    {4, 4, false, true, "step 0  grad      15 floats: 2 tensors in parts, 4 ranks  ok"},
    {4, 4, true, false, "step 0  grad      60 floats: 2 tensors in parts, 4 ranks  ok"},
    {4, 1, true, false, "step 0  momentum  26 floats: 2 tensors in parts, 4 ranks  ok"},
    {4, 4, true, true, "step 0  momentum  15 floats: 2 tensors in parts, 4 ranks  ok"},
    {3, 7, true, true, "step 0  momentum  15 floats: 2 tensors in parts, 7 ranks  ok"},
    {1, 5, false, true, "step 0  grad      15 floats: 2 tensors in parts, 5 ranks  ok"},
    {1, 1, false, true, "step 0  grad      15 floats: 2 tensors in parts, 1 rank  ok"},
};

START_TEST(the_same_run_is_equal_however_it_is_laid_out)
{
    struct dump a = dump_make("a", layouts[_i].a_world, layouts[_i].a_sharded);
    struct dump b = dump_make("b", layouts[_i].b_world, layouts[_i].b_sharded);
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 0, layouts[_i].said, "");
    outcome_check(&outcome, 0, "equal bit for bit: 1 step, ", "");
}
END_TEST

START_TEST(all_steps_are_compared)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 2, false);
    a.steps = b.steps = DUMP_STEPS;
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 0, "step 1  param     30 floats: 2 tensors, 2 ranks  ok", "");
    outcome_check(&outcome, 0, "equal bit for bit: 2 steps, 180 floats", "");
}
END_TEST

/* --- different ------------------------------------------------------------------------------- */

START_TEST(one_bit_is_found_with_its_step_tensor_element_and_rank)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 4, _i == 1);
    a.steps = b.steps = DUMP_STEPS;
    b.values[1][DUMP_GRAD][10] = nextafterf(a.values[1][DUMP_GRAD][10], 2);
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "step 0  grad ", "");
    outcome_check(&outcome, 3, _i == 1 ? "element 10, rank 3" : "element 10, rank 0", "");
    outcome_check(&outcome, 3, "first divergence: step 1, grad.fc1.weight, element 10", "");
    outcome_check(&outcome, 3, "the one differing value is off in the last bits only", "");
    outcome_check(&outcome, 3, _i == 1 ? "different: 1 of " : "different: 4 of ", "");
}
END_TEST

START_TEST(one_rank_that_differs_is_named)
{
    struct folder folder;
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 4, false);
    folder_open(&folder);
    dump_write(&folder, &a);
    dump_write(&folder, &b);
    b.values[0][DUMP_PARAM][DUMP_WEIGHTS + 2] = 77.5f;
    dump_write_rank(&folder, &b, 2, 0);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 3, "first divergence: step 0, param.fc1.bias, element 2, rank 2", "");
    outcome_check(&outcome, 3, "B 77.5 ", "");
    folder_close(&folder);
}
END_TEST

START_TEST(gradients_come_before_what_follows_from_them)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 1, false);
    for (int kind = 0; kind < DUMP_KINDS; kind++)
        b.values[0][kind][1] += 0.25f;
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "first divergence: step 0, grad.fc1.weight, element 1, ", "");
}
END_TEST

START_TEST(a_rank_that_only_the_reference_has_is_compared)
{
    struct folder folder;
    struct dump a = dump_make("a", 3, false), b = dump_make("b", 1, false);
    folder_open(&folder);
    dump_write(&folder, &a);
    dump_write(&folder, &b);
    a.values[0][DUMP_GRAD][0] = 9;
    dump_write_rank(&folder, &a, 2, 0);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 3, "step 0, grad.fc1.weight, element 0, rank 2", "");
    folder_close(&folder);
}
END_TEST

START_TEST(zeros_of_two_signs_and_nan_are_not_equal)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 1, false);
    a.values[0][DUMP_GRAD][4] = _i == 0 ? 0.0f : NAN;
    b.values[0][DUMP_GRAD][4] = _i == 0 ? -0.0f : NAN;
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "grad.fc1.weight, element 4, rank 0", "");
    outcome_check(&outcome, 3, _i == 0 ? "B -0 " : "not finite: nan on both sides", "");
    const char *const bounded[] = {"a", "b", "--tolerance", "1", NULL};
    outcome = verify_dumps(&a, &b, bounded);
    ck_assert_int_eq(outcome.code, _i == 0 ? 0 : 3);
}
END_TEST

/* --- causes ---------------------------------------------------------------------------------- */

START_TEST(a_sum_in_place_of_a_mean_is_named)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 3, _i == 1);
    for (int i = 0; i < DUMP_COUNT; i++)
        b.values[0][DUMP_GRAD][i] = 3 * a.values[0][DUMP_GRAD][i];
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3,
                  "over all of grad: every value is 3 times the expected one: summed over 3 ranks",
                  "");
}
END_TEST

/* The whole kind has no one cause when two tensors went wrong in two ways. */
START_TEST(what_no_cause_of_the_kind_explains_is_looked_for_in_the_tensor)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 2, false);
    for (int i = 0; i < DUMP_COUNT; i++)
        b.values[0][DUMP_GRAD][i] = i < DUMP_WEIGHTS ? a.values[0][DUMP_GRAD][i] / 2 : 5;
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "over all of grad.fc1.weight: every value is 1/2 of", "");
}
END_TEST

START_TEST(a_bucket_of_the_step_before_is_named)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 2, _i == 1);
    a.steps = b.steps = DUMP_STEPS;
    memcpy(b.values[1][DUMP_GRAD], a.values[0][DUMP_GRAD], sizeof b.values[1][DUMP_GRAD]);
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "first divergence: step 1, grad.fc1.weight, element 0", "");
    outcome_check(&outcome, 3, "every value is that of the step before: a stale bucket", "");
}
END_TEST

/* Chunks are cut from the whole vector: chunk 2 of 3 takes from both tensors. */
START_TEST(swapped_chunks_are_named_across_tensors)
{
    struct dump a = dump_make("a", 3, false), b = dump_make("b", 3, false);
    memcpy(b.values[0][DUMP_GRAD] + 0, a.values[0][DUMP_GRAD] + 10, 5 * sizeof(float));
    memcpy(b.values[0][DUMP_GRAD] + 10, a.values[0][DUMP_GRAD] + 0, 5 * sizeof(float));
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    outcome_check(&outcome, 3, "over all of grad: chunks 0 and 2 of 3 are swapped", "");
}
END_TEST

/* --- within a tolerance ---------------------------------------------------------------------- */

static const struct {
    const char *tolerance;
    int code;
} tolerances[] = {{"1e-3", 0}, {"0.9e-3", 3}, {"0", 3}, {"1e-2", 0}};

/* The bound is 1e-3 of the largest weight, 8, also for parts that do not hold that weight. */
START_TEST(tolerance_is_relative_to_the_whole_tensor)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", _i < 4 ? 1 : 3, _i >= 4);
    const char *const arguments[] = {"a", "--tolerance", tolerances[_i % 4].tolerance, "b", NULL};
    a.values[0][DUMP_GRAD][0] = b.values[0][DUMP_GRAD][0] = -8;
    a.values[0][DUMP_GRAD][11] = 0;
    b.values[0][DUMP_GRAD][11] = 0.00799f;
    struct outcome outcome = verify_dumps(&a, &b, arguments);
    outcome_check(&outcome, tolerances[_i % 4].code, "times its bound", "");
    outcome_check(&outcome, tolerances[_i % 4].code,
                  tolerances[_i % 4].code ? "element 11" : "equal within", "");
}
END_TEST

/* --- what cannot be compared ----------------------------------------------------------------- */

static void remove_at(const struct folder *folder, const char *name)
{
    char path[512];
    ck_assert_int_eq(remove(folder_path(folder, name, path)), 0);
}

static void damage(const struct folder *folder, int how)
{
    char path[512];
    static const char garbage[] = "not a tensor file at all";
    struct dump odd = dump_make("b", 3, true);
    if (how == 0)
        remove_at(folder, "b/rank-1/step-000001.safetensors");
    if (how == 1) {
        remove_at(folder, "b/rank-0/step-000000.safetensors");
        remove_at(folder, "b/rank-0/step-000001.safetensors");
        remove_at(folder, "b/rank-0");
    }
    if (how == 2)
        folder_write(folder, "b/rank-0/step-000000.safetensors", garbage, sizeof garbage, false,
                     path);
    if (how == 3)
        ck_assert_int_eq(
            truncate(folder_path(folder, "b/rank-1/step-000000.safetensors", path), 300), 0);
    if (how == 4)
        dump_write_rank(folder, &odd, 0, 0); // as if there were three ranks
    if (how == 5)
        folder_write(folder, "b/rank-1/step-000000.safetensors", "\2\0\0\0\0\0\0\0{}", 10, false,
                     path);
}

static const char *const damages[] = {
    "b/rank-1 lacks step 1, which rank 0 has",
    "b lacks rank-0, but has rank-1",
    "b/rank-0/step-000000.safetensors",
    "b/rank-1/step-000000.safetensors is truncated",
    "metadata say world 3, where it lies it should be 2",
    "rank 1 lacks",
};
enum { DAMAGES = sizeof damages / sizeof *damages };

START_TEST(a_damaged_dump_is_refused_by_name)
{
    struct folder folder;
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 2, false);
    a.steps = b.steps = DUMP_STEPS;
    folder_open(&folder);
    dump_write(&folder, &a);
    dump_write(&folder, &b);
    damage(&folder, _i);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", damages[_i]);
    ck_assert_ptr_null(strstr(outcome.out, "equal"));
    folder_close(&folder);
}
END_TEST

START_TEST(a_part_that_no_rank_holds_is_named)
{
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 3, true);
    b.lost = (size_t)_i;
    struct outcome outcome = verify_dumps(&a, &b, NULL);
    static const char *const said[] = {"no rank holds element 0 of momentum.fc1.weight",
                                       "no rank holds element 4 of momentum.fc1.weight",
                                       "grad.fc1.weight has 12 elements in"};
    outcome_check(&outcome, 1, "", said[_i]);
}
END_TEST

START_TEST(what_is_no_dump_is_refused)
{
    struct folder folder;
    struct dump a = dump_make("a", 1, false);
    folder_open(&folder);
    dump_write(&folder, &a);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", "cannot open the dump");
    dump_folder(&folder, "b");
    outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", "b is no dump: it holds no directory rank-0");
    dump_folder(&folder, "b/rank-0");
    outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", "b is no dump: rank-0 holds no step-000000.safetensors");
    folder_close(&folder);
}
END_TEST

/* The steps that both have are compared all the same: a difference there is worth more. */
START_TEST(a_step_that_one_side_lacks_is_named)
{
    struct folder folder;
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 1, false);
    a.steps = b.steps = DUMP_STEPS;
    bool in_a = _i % 2 == 0, different = _i / 2 == 1;
    b.values[0][DUMP_GRAD][0] += different;
    folder_open(&folder);
    dump_write(&folder, &a);
    dump_write(&folder, &b);
    remove_at(&folder,
              in_a ? "b/rank-0/step-000001.safetensors" : "a/rank-0/step-000001.safetensors");
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, different ? 3 : 1, "step 0  grad ", "step 1 is in ");
    ck_assert_ptr_nonnull(strstr(outcome.error, in_a ? "/b\n" : "/a\n"));
    ck_assert_ptr_null(strstr(outcome.out, "equal"));
    folder_close(&folder);
}
END_TEST

/* One file with one tensor, "param.w", on each side. */
static void write_one(const struct folder *folder, const char *side, const char *tensor,
                      const size_t *shape, size_t dimensions)
{
    char name[64], path[512];
    struct fail fail = {0};
    static const float values[12];
    dump_folder(folder, side);
    snprintf(name, sizeof name, "%s/rank-0", side);
    dump_folder(folder, name);
    snprintf(name, sizeof name, "%s/rank-0/step-000000.safetensors", side);
    struct tensorfile_writer *writer = tensorfile_new();
    tensorfile_declare(writer, tensor, shape, dimensions, &fail);
    tensorfile_begin(writer, folder_path(folder, name, path), &fail);
    size_t count = 1;
    for (size_t i = 0; i < dimensions; i++)
        count *= shape[i];
    tensorfile_write(writer, values, count, &fail);
    tensorfile_commit(writer, &fail);
    tensorfile_discard(writer);
    ck_assert_int_eq(fail.code, 0);
}

static const struct {
    const char *b_name;
    size_t b_shape[2], b_dimensions;
    const char *said;
} mismatches[] = {
    {"param.w", {4, 3}, 2, "param.w has another shape"},
    {"param.w", {12, 0}, 1, "param.w has another shape"},
    {"param.w", {2, 3}, 2, "param.w has 12 elements in"},
    {"param.v", {3, 4}, 2, "step 0: param.w is in "},
    {"grad.w", {3, 4}, 2, "step 0: param.w is in "},
};

START_TEST(tensors_that_do_not_match_are_named)
{
    struct folder folder;
    folder_open(&folder);
    write_one(&folder, "a", "param.w", (size_t[]){3, 4}, 2);
    write_one(&folder, "b", mismatches[_i].b_name, mismatches[_i].b_shape,
              mismatches[_i].b_dimensions);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", mismatches[_i].said);
    folder_close(&folder);
}
END_TEST

START_TEST(nothing_compared_is_not_equal)
{
    struct folder folder;
    folder_open(&folder);
    write_one(&folder, "a", "param.w", (size_t[]){0}, 1);
    write_one(&folder, "b", "param.w", (size_t[]){0}, 1);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 1, "", "hold no floats to compare");
    folder_close(&folder);
}
END_TEST

/* A kind nobody has heard of, and a tensor without any, are compared like the others. */
START_TEST(unknown_kinds_are_compared_too)
{
    struct folder folder;
    folder_open(&folder);
    write_one(&folder, "a", "w", NULL, 0);
    write_one(&folder, "b", "w", NULL, 0);
    struct outcome outcome = verify_sides(&folder);
    outcome_check(&outcome, 0, "step 0  w         1 floats: 1 tensor, 1 rank  ok: bit for bit", "");
    folder_close(&folder);
}
END_TEST

/* --- the command line ------------------------------------------------------------------------ */

static const struct {
    const char *arguments[5];
    int code;
    const char *out, *error;
} lines[] = {
    {{NULL}, 2, "", "two directories are needed"},
    {{"a", NULL}, 2, "", "two directories are needed"},
    {{"a", "b", "c", NULL}, 2, "", "'c' is a third"},
    {{"a", "b", "--exact", NULL}, 2, "", "unknown flag --exact"},
    {{"a", "b", "--tolerance", NULL}, 2, "", "--tolerance lacks its value"},
    {{"a", "b", "--tolerance", "x", NULL}, 2, "", "--tolerance x: must be a number from 0 to 1"},
    {{"a", "b", "--tolerance", "nan", NULL}, 2, "", "--tolerance nan"},
    {{"a", "b", "--tolerance", "-1", NULL}, 2, "", "--tolerance -1"},
    {{"a", "b", "--tolerance=2", NULL}, 2, "", "--tolerance 2"},
    {{"a", "b", "--tolerance=1e-5", NULL}, 1, "", "cannot open the dump"},
    {{"--help", NULL}, 0, "usage: verify A B", ""},
    {{"--version", NULL}, 0, "verify 0.1.0\n", ""},
};
enum { LINES = sizeof lines / sizeof *lines };

START_TEST(the_command_line_is_understood_or_refused)
{
    struct folder folder;
    folder_open(&folder);
    struct outcome outcome = verify_run(&folder, lines[_i].arguments, NULL);
    outcome_check(&outcome, lines[_i].code, lines[_i].out, lines[_i].error);
    folder_close(&folder);
}
END_TEST

START_TEST(a_report_that_cannot_be_written_is_no_success)
{
    struct folder folder;
    struct dump a = dump_make("a", 1, false), b = dump_make("b", 1, false);
    folder_open(&folder);
    dump_write(&folder, &a);
    dump_write(&folder, &b);
    struct outcome outcome =
        verify_run(&folder, (const char *const[]){"a", "b", NULL}, "/dev/full");
    outcome_check(&outcome, 1, "", "cannot write to the standard output");
    folder_close(&folder);
}
END_TEST

Suite *verify_suite(void)
{
    Suite *suite = suite_create("verify");
    TCase *tcase = tcase_create("verify");
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, the_same_run_is_equal_however_it_is_laid_out, 0, 12);
    tcase_add_test(tcase, all_steps_are_compared);
    tcase_add_loop_test(tcase, one_bit_is_found_with_its_step_tensor_element_and_rank, 0, 2);
    tcase_add_test(tcase, one_rank_that_differs_is_named);
    tcase_add_test(tcase, gradients_come_before_what_follows_from_them);
    tcase_add_test(tcase, a_rank_that_only_the_reference_has_is_compared);
    tcase_add_loop_test(tcase, zeros_of_two_signs_and_nan_are_not_equal, 0, 2);
    tcase_add_loop_test(tcase, a_sum_in_place_of_a_mean_is_named, 0, 2);
    tcase_add_test(tcase, what_no_cause_of_the_kind_explains_is_looked_for_in_the_tensor);
    tcase_add_loop_test(tcase, a_bucket_of_the_step_before_is_named, 0, 2);
    tcase_add_test(tcase, swapped_chunks_are_named_across_tensors);
    tcase_add_loop_test(tcase, tolerance_is_relative_to_the_whole_tensor, 0, 8);
    tcase_add_loop_test(tcase, a_damaged_dump_is_refused_by_name, 0, DAMAGES);
    tcase_add_loop_test(tcase, a_part_that_no_rank_holds_is_named, 0, 3);
    tcase_add_test(tcase, what_is_no_dump_is_refused);
    tcase_add_loop_test(tcase, a_step_that_one_side_lacks_is_named, 0, 4);
    tcase_add_loop_test(tcase, tensors_that_do_not_match_are_named, 0, 5);
    tcase_add_test(tcase, nothing_compared_is_not_equal);
    tcase_add_test(tcase, unknown_kinds_are_compared_too);
    tcase_add_loop_test(tcase, the_command_line_is_understood_or_refused, 0, LINES);
    tcase_add_test(tcase, a_report_that_cannot_be_written_is_no_success);
    suite_add_tcase(suite, tcase);
    return suite;
}
