/* The drawn bucket plan: against pictures checked by hand, and against messages really sent. */
#include "lesson03_ddp/explain_buckets.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char *drawing_of(const struct explain_buckets *explain, const struct bucket_order *order)
{
    char *text = NULL;
    size_t size_bytes = 0;
    struct bucket_plan plan;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    bucket_plan_make(&plan, explain->model, order, explain->first_bytes, explain->bytes);
    explain_buckets(out, explain, &plan);
    fclose(out);
    return text;
}

static void check_picture(const struct explain_buckets *explain, const struct bucket_order *order,
                          const char *picture)
{
    char *text = drawing_of(explain, order);
    ck_assert_str_eq(text, picture);
    free(text);
}

/* Floats 12, 4, 8, 2. */
static void plan_small(struct model *model)
{
    static const size_t widths[] = {3, 4, 2};
    model_plan(model, widths, 2, true);
}

START_TEST(a_small_plan_is_drawn_as_by_hand)
{
    struct model model;
    plan_small(&model);
    struct explain_buckets explain = {&model, 40, 64, choice_fixed(ALGORITHM_RING), 3, false, NULL};
    struct bucket_order order = bucket_order_reverse(&model);
    check_picture(
        &explain, &order,
        "    slab    | fc1.weight | fc1.bias | fc2.weight | fc2.bias |\n"
        "    bucket  | 1            1        | 0            0        |\n"
        "\n"
        "    bucket   elements        KiB    cap KiB  by       messages  tensors, as planned\n"
        "         0         10       0.04       0.04  ring           12  fc2.bias fc2.weight\n"
        "         1         16       0.06       0.06  ring           12  fc1.bias fc1.weight\n"
        "       all         26       0.10                            24  per update, by 3 ranks "
        "together\n");
}
END_TEST

/* fc2.bias takes no part, and halves are counted. */
START_TEST(a_tensor_in_no_bucket_and_an_order_that_jumps_are_drawn)
{
    struct model model;
    plan_small(&model);
    struct explain_buckets explain = {&model, 999,  999, choice_fixed(ALGORITHM_DIRECT),
                                      4,      true, NULL};
    struct bucket_order order = {3, {2, 0, 1}};
    check_picture(
        &explain, &order,
        "    slab    | fc1.weight | fc1.bias | fc2.weight | fc2.bias |\n"
        "    bucket  | 1            1        | 0          | -        |\n"
        "\n"
        "    bucket   elements        KiB    cap KiB  by       messages  tensors, as planned\n"
        "         0          8       0.03       0.98  direct         24  fc2.weight\n"
        "         1         16       0.06       0.98  direct         24  fc1.weight fc1.bias\n"
        "       all         24       0.09                            48  per update, by 4 ranks "
        "together\n");
}
END_TEST

START_TEST(a_long_slab_is_drawn_in_lines_of_a_page)
{
    size_t widths[MODEL_LAYERS_MOST + 1], bars = 0;
    struct model model;
    for (size_t i = 0; i <= MODEL_LAYERS_MOST; i++)
        widths[i] = 2;
    model_plan(&model, widths, MODEL_LAYERS_MOST, true);
    struct explain_buckets explain = {&model, 4, 64, choice_fixed(ALGORITHM_TREE), 2, false, NULL};
    struct bucket_order order = bucket_order_reverse(&model);
    char *text = drawing_of(&explain, &order);
    for (char *line = text; strncmp(line, "\n", 1) != 0; line = strchr(line, '\n') + 1) {
        ck_assert_uint_le(strcspn(line, "\n"), 96);
        for (char *at = line; strncmp(line, "    slab", 8) == 0 && *at != '\n'; at++)
            bars += *at == '|' && at[1] == ' ';
    }
    ck_assert_uint_eq(bars, model.tensor_count); // each tensor once
    free(text);
}
END_TEST

/* --- the programs ---------------------------------------------------------------------------- */

/* What stands behind the last `key` of the text. */
static double last_number(const char *text, const char *key)
{
    const char *found = NULL;
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key))
        found = at + strlen(key);
    ck_assert_msg(found, "no '%s' in: %s", key, text);
    return strtod(found, NULL);
}

/* Messages of all ranks in the run's third update. */
static double messages_sent(const struct folder *folder, struct lesson lesson,
                            const char *arguments)
{
    char command[512];
    double sum = 0;
    snprintf(command, sizeof command, "--steps 3 --no-verify --metrics m.json %s", arguments);
    lesson_ok(folder, lesson, command);
    for (int rank = 0; rank < lesson.world; rank++) {
        struct program program;
        snprintf(command, sizeof command, "grep messages_sent m.rank-%d.json | tail -n 1", rank);
        program_run(&program, folder->path, command);
        sum += last_number(program.out, "\"messages_sent\":");
        program_close(&program);
    }
    return sum;
}

static const struct {
    struct lesson lesson;
    const char *arguments;
} runs[] = {
    {{3, 3}, "--bucket-kb 1"},
    {{3, 2}, "--hidden none"},
    {{3, 4}, "--algorithm root --hidden 20,20 --bucket-kb 0.004"},
    {{3, 3}, "--algorithm halving"},
    {{3, 4}, "--algorithm tree"},
    {{3, 3}, "--algorithm auto --hidden 300 --bucket-kb 60"},
    {{4, 3}, "--bucket-kb 1"},
    {{4, 2}, "--algorithm direct"},
    {{4, 3}, "--stage 2 --bucket-kb 1 --accumulate 2"},
    {{4, 3}, "--stage 3 --hidden 32,32 --bucket-kb 1 --persist-kb 1"},
    {{4, 2}, "--stage 3 --hidden 8,8,8 --bucket-kb 0.1 --persist-kb 0 --accumulate 2 --batch 20"},
    {{4, 2}, "--stage 3 --hidden 8,8,8 --bucket-kb 0.1 --persist-kb 0 --freeze fc2 --recompute 2"},
    {{3, 3}, "--compress bf16 --bucket-kb 1"},
    {{3, 3}, "--hidden 8,8,8,8 --freeze fc3 --bucket-kb 0.3"},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* Frozen ones are in no bucket, and do not count. */
static double parameters_of_title(const char *out)
{
    double parameters = 0;
    ck_assert_int_eq(sscanf(out, "[0] the gradient of %lf parameters", &parameters), 1);
    return parameters;
}

/* Beside the buckets, an update sends each rank's loss to all others; in lesson 4 also what the
 * norm is made of, in two rounds. */
START_TEST(an_update_takes_the_messages_that_were_explained)
{
    char arguments[256];
    struct folder folder;
    struct program program;
    struct lesson lesson = runs[_i].lesson;
    double numbers = (lesson.number == 4 ? 3 : 1) * lesson.world * (lesson.world - 1);
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--explain %s", runs[_i].arguments);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_null(strstr(program.out, "[1]")); // rank 0 speaks
    const char *all = strstr(program.out, "       all ");
    ck_assert_ptr_nonnull(all);
    double elements = 0, explained = 0;
    ck_assert_int_eq(sscanf(all, " all %lf %*f %lf per update", &elements, &explained), 2);
    if (lesson.number == 3)
        ck_assert_double_eq(parameters_of_title(program.out), elements);
    ck_assert_double_eq(messages_sent(&folder, lesson, runs[_i].arguments), explained + numbers);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(lesson_3_says_that_a_rebuild_changes_nothing_and_lesson_4_that_there_is_none)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3 + _i, 2}, "--explain");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(
        strstr(program.out, _i == 0 ? "a rebuild changes nothing" : "This plan is kept"));
    ck_assert_ptr_null(strstr(program.out, "epoch"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* fc4.weight is ready after fc2.bias only. */
START_TEST(both_plans_are_explained_where_a_rebuild_changes_them)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3, 2},
               "--explain --hidden 8,8,8,8 --tie fc2=fc4 --first-bucket-kb 0.2 --bucket-kb 1");
    ck_assert_int_eq(program.code, 0);
    const char *first = strstr(program.out, "in 3 buckets");
    ck_assert_msg(first != NULL, "%s", program.out);
    const char *again = strstr(first, "buckets are rebuilt:");
    ck_assert_msg(again && strstr(first, "fc4.bias fc4.weight") < again, "%s", program.out);
    ck_assert_msg(strstr(again, "fc2.bias fc4.weight") != NULL, "%s", program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *explain_buckets_suite(void)
{
    Suite *suite = suite_create("explain_buckets");
    TCase *tcase = tcase_create("plans");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_small_plan_is_drawn_as_by_hand);
    tcase_add_test(tcase, a_tensor_in_no_bucket_and_an_order_that_jumps_are_drawn);
    tcase_add_test(tcase, a_long_slab_is_drawn_in_lines_of_a_page);
    tcase_add_loop_test(tcase, an_update_takes_the_messages_that_were_explained, 0, RUNS);
    tcase_add_loop_test(
        tcase, lesson_3_says_that_a_rebuild_changes_nothing_and_lesson_4_that_there_is_none, 0, 2);
    tcase_add_test(tcase, both_plans_are_explained_where_a_rebuild_changes_them);
    suite_add_tcase(suite, tcase);
    return suite;
}
