/* What a run says of compute, communication and what of it was exposed: true at any speed. */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6, LINE_BYTES = 2048, ARGUMENTS_BYTES = 512 };

struct overlap_case {
    struct lesson lesson;
    const char *arguments;
    bool overlaps, sends;
};

static const struct overlap_case cases[] = {
    {{1, 1}, "", false, false},
    {{2, 1}, "", false, false},
    {{2, 3}, "", false, true},
    {{3, 1}, "", false, false},
    {{3, 2}, "--bucket-kb 2 --link 400mbit,1ms", true, true},
    {{3, 2}, "--bucket-kb 2 --no-overlap", false, true},
    {{3, 3}, "--bucket-kb 2 --accumulate 2", true, true},
    {{4, 2}, "--bucket-kb 2", true, true},
    {{4, 3}, "--bucket-kb 2 --no-overlap", false, true},
    {{4, 3}, "--bucket-kb 2 --stage 2", true, true},
    {{4, 2}, "--bucket-kb 2 --stage 3 --persist-kb 0 --link 400mbit,1ms", true, true},
    {{4, 3}, "--bucket-kb 1 --stage 3 --accumulate 2", true, true},
};

static double number(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    ck_assert_msg(json_is_number(value), "%s is no number", key);
    return json_number_value(value);
}

static void check_efficiency(const json_t *line, const struct overlap_case *is)
{
    double comm = number(line, "comm_seconds"), exposed = number(line, "exposed_seconds");
    const json_t *efficiency = json_object_get(line, "overlap_efficiency");
    ck_assert(comm >= 0 && exposed >= 0 && number(line, "compute_seconds") > 0);
    ck_assert_msg(is->sends ? json_is_number(efficiency) : json_is_null(efficiency),
                  "lesson %d, world %d: efficiency", is->lesson.number, is->lesson.world);
    if (!is->sends)
        return;
    double value = json_number_value(efficiency);
    ck_assert_msg(value >= 0 && value <= 1, "efficiency %g", value);
    ck_assert_msg(is->overlaps || value == 0, "%g without overlap", value);
    ck_assert_msg(value > 0 || exposed >= comm, "efficiency 0, exposed %g of %g", exposed, comm);
}

/* Every update's parts are within the update. */
static void check_step(const json_t *line, const struct overlap_case *is)
{
    double seconds = number(line, "seconds"), exposed = number(line, "exposed_seconds");
    double compute = number(line, "compute_seconds"), comm = number(line, "comm_seconds");
    check_efficiency(line, is);
    ck_assert_msg(compute + exposed <= seconds, "%g + %g of %g s", compute, exposed, seconds);
    ck_assert_msg(comm <= seconds, "%g of %g s communicating", comm, seconds);
}

static void check_line(const char *text, const struct overlap_case *is, size_t *steps)
{
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(line != NULL, "%s", text);
    const char *event = json_string_value(json_object_get(line, "event"));
    if (strcmp(event, "step") == 0) {
        check_step(line, is);
        (*steps)++;
    } else {
        check_efficiency(line, is);
    }
    json_decref(line);
}

static void check_file(const struct folder *folder, const struct overlap_case *is, int rank)
{
    char name[32] = "m.jsonl", path[512], text[LINE_BYTES];
    size_t steps = 0;
    if (is->lesson.world > 1)
        snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
    FILE *file = fopen(folder_path(folder, name, path), "r");
    ck_assert_msg(file != NULL, "%s is not there", name);
    while (fgets(text, sizeof text, file))
        check_line(text, is, &steps);
    fclose(file);
    ck_assert_uint_eq(steps, STEPS);
}

START_TEST(exposed_time_is_part_of_the_update_and_efficiency_from_0_to_1)
{
    const struct overlap_case *is = &cases[_i];
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--steps %d --verify 1 --metrics m.jsonl %s", STEPS,
             is->arguments);
    lesson_ok(&folder, is->lesson, arguments);
    for (int rank = 0; rank < is->lesson.world; rank++)
        check_file(&folder, is, rank);
    folder_close(&folder);
}
END_TEST

/* One line at the end where overlap is the lesson's subject and some update was not verified. */
START_TEST(lessons_3_and_4_say_in_one_line_what_was_exposed)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3 + _i, 2}, "--steps 4 --verify 2");
    ck_assert_ptr_nonnull(strstr(program.out, "overlap | an update computes "));
    program_close(&program);
    lesson_run(&program, &folder, (struct lesson){3 + _i, 2}, "--steps 2 --verify 2");
    ck_assert_ptr_null(strstr(program.out, "overlap | "));
    program_close(&program);
    lesson_run(&program, &folder, (struct lesson){3 + _i, 1}, "--steps 4 --verify 2");
    ck_assert_ptr_null(strstr(program.out, "overlap | "));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *overlap_suite(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tcase = tcase_create("overlap");
    tcase_add_loop_test(tcase, exposed_time_is_part_of_the_update_and_efficiency_from_0_to_1, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, lessons_3_and_4_say_in_one_line_what_was_exposed, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
