/*
 * The staircase: every lesson is the one below, at every world, by the lessons' own proofs and by
 * the dumps of whole runs.
 *
 *     lesson 4 = lesson 3           twelve updates, bit for bit, at the same world
 *     lesson 2 ~ lesson 1           twelve updates, within 1e-5 of a tensor's largest value
 *     every lesson = lesson 1       on dyadic numbers, where no addition rounds
 *     compressed lesson 4 = 3       twelve updates, bit for bit
 */
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { WORLDS = 5, STAGES = 3, ARGUMENTS_BYTES = 512, LINES_MOST = 64 };

/* Sizes that divide by nothing; the last micro-batches of an epoch are short. */
static const char *const rules[] = {
    "--hidden 13 --batch 50 --momentum 0.9 --weight-decay 0.01",
    "--hidden 13 --batch 24 --optimizer adam --lr 0.003 --accumulate 2 --clip 1.5",
    "--hidden 11,7 --batch 17 --optimizer adamw --lr 0.003 --weight-decay 0.1 --accumulate 3",
    "--hidden 13 --batch 10 --clip 0.5 --accumulate 2 --schedule cosine --warmup 3",
};
enum { RULES = sizeof rules / sizeof *rules };

/* Verification lines of a step: all of them must be ok. */
static const size_t lines_of[] = {0, 1, 4, 4, 4};

static void climb(const struct folder *folder, struct lesson lesson, const char *rule,
                  const char *dump)
{
    char arguments[ARGUMENTS_BYTES];
    snprintf(arguments, sizeof arguments,
             "%s --steps 12 --verify 3 --dump %s --dump-steps 12 --metrics %s.jsonl %s", rule, dump,
             dump, lesson.number >= 3 ? "--first-bucket-kb 0.2 --bucket-kb 2" : "");
    size_t lines = lesson_ok(folder, lesson, arguments);
    ck_assert_msg(lines >= 3 * lines_of[lesson.number], "lesson %d printed %zu lines",
                  lesson.number, lines);
}

static size_t losses(const struct folder *folder, int world, const char *dump, double *values)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s.jsonl", dump, world > 1 ? ".rank-0" : "");
    return lesson_values(folder, name, "loss", values, LINES_MOST);
}

/* Of every update. */
static void check_losses(const struct folder *folder, int world, const char *a, const char *b)
{
    double first[LINES_MOST], second[LINES_MOST];
    size_t count = losses(folder, world, a, first);
    ck_assert_uint_ge(count, 12);
    ck_assert_uint_eq(losses(folder, world, b, second), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(first[i] == second[i], "%s: update %zu has the loss %.17g, %s: %.17g", a, i,
                      first[i], b, second[i]);
}

/* Lesson 4 at every stage: the dumps and losses of each are lesson 3's, in "three". */
static void climb_stages(const struct folder *folder, int world, const char *rule)
{
    for (int stage = 1; stage <= STAGES; stage++) {
        char staged[ARGUMENTS_BYTES - 192], dump[24], both[32];
        snprintf(staged, sizeof staged, "%s --stage %d --persist-kb 0.1", rule, stage);
        snprintf(dump, sizeof dump, "four-%d", stage);
        snprintf(both, sizeof both, "three %s", dump);
        climb(folder, (struct lesson){4, world}, staged, dump);
        lesson_dumps_equal(folder, both);
        check_losses(folder, world, "three", dump);
    }
}

START_TEST(each_lesson_is_the_one_below_on_digits)
{
    int world = 1 + _i % WORLDS;
    const char *rule = rules[_i / WORLDS];
    struct folder folder;
    folder_open(&folder);
    climb(&folder, (struct lesson){1, 1}, rule, "one");
    climb(&folder, (struct lesson){2, world}, rule, "two");
    climb(&folder, (struct lesson){3, world}, rule, "three");
    climb_stages(&folder, world, rule);
    lesson_dumps_equal(&folder, "one two --tolerance 1e-5");
    lesson_dumps_equal(&folder, "two three --tolerance 1e-5");
    folder_close(&folder);
}
END_TEST

START_TEST(on_dyadic_numbers_every_lesson_and_world_has_lesson_1s_bits)
{
    static const char set[] = "--data synthetic --hidden none --init const:0.25 --batch 32 "
                              "--accumulate 2 --momentum 0.5 --lr 0.125 --verify 3 --steps 3 "
                              "--dump %s --dump-steps 1";
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, set, "one");
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    for (int number = 2; number <= 4; number++) {
        char name[16], both[32];
        snprintf(name, sizeof name, "%d", number);
        snprintf(both, sizeof both, "one %d", number);
        snprintf(arguments, sizeof arguments, set, name);
        size_t lines = lesson_ok(&folder, (struct lesson){number, 1 + _i}, arguments);
        ck_assert_uint_ge(lines, 3 * lines_of[number]);
        lesson_dumps_equal(&folder, both);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(overlap_changes_no_bit_of_a_whole_run)
{
    static const char set[] = "--hidden 13 --batch 50 --optimizer adam --lr 0.003 --steps 12 "
                              "--verify 3 --bucket-kb 1 --dump-steps 12 ";
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s --dump with", set);
    lesson_ok(&folder, (struct lesson){3 + _i, 3}, arguments);
    snprintf(arguments, sizeof arguments, "%s --dump without --no-overlap", set);
    lesson_ok(&folder, (struct lesson){3 + _i, 3}, arguments);
    lesson_dumps_equal(&folder, "with without");
    folder_close(&folder);
}
END_TEST

/* With the proofs of every lesson, and the last two bit for bit. */
START_TEST(in_16_bits_each_lesson_is_the_one_below)
{
    static const char *const types[] = {"--precision bf16", "--precision fp16",
                                        "--precision bf16 --loss-scale 4096",
                                        "--precision fp16 --compress bf16"};
    enum { TYPES = sizeof types / sizeof *types };
    int world = 1 + _i % WORLDS, type = _i / WORLDS % TYPES;
    bool compresses = type == TYPES - 1; // which begins at lesson 3
    char rule[ARGUMENTS_BYTES / 2];
    struct folder folder;
    folder_open(&folder);
    snprintf(rule, sizeof rule, "%s %s", rules[type], types[type]);
    if (!compresses)
        climb(&folder, (struct lesson){1, 1}, rule, "one");
    if (!compresses)
        climb(&folder, (struct lesson){2, world}, rule, "two");
    climb(&folder, (struct lesson){3, world}, rule, "three");
    climb_stages(&folder, world, rule);
    folder_close(&folder);
}
END_TEST

/* Other buckets, other owners of an element: without error feedback the bits are the same. */
START_TEST(compressed_lessons_agree_bit_for_bit)
{
    static const char set[] =
        "%s --compress bf16 %s --steps 12 --verify 3 --dump-steps 12 --dump %s";
    const char *rule = rules[_i / WORLDS % RULES];
    const char *feedback = _i / WORLDS / RULES ? "--error-feedback" : "";
    const char *cuts[] = {"--first-bucket-kb 0.2 --bucket-kb 2",
                          "--first-bucket-kb 0.2 --bucket-kb 2", "--no-overlap"};
    static const char *const names[] = {"three", "four", "other"};
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < 3; i++) {
        int width = snprintf(arguments, sizeof arguments, set, rule, feedback, names[i]);
        snprintf(arguments + width, sizeof arguments - (size_t)width, " %s", cuts[i]);
        struct lesson lesson = {i == 1 ? 4 : 3, 1 + _i % WORLDS};
        ck_assert_uint_ge(lesson_ok(&folder, lesson, arguments), 3 * (*feedback ? 5 : 4));
    }
    lesson_dumps_equal(&folder, "three four");
    if (!*feedback)
        lesson_dumps_equal(&folder, "three other");
    folder_close(&folder);
}
END_TEST

/* The order of additions within a matrix product does not depend on what else a process does. */
START_TEST(a_rerun_has_the_same_bits)
{
    static const char set[] = "--hidden 13 --batch 50 --steps 6 --no-verify --dump-steps 6 --dump ";
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    for (int again = 0; again < 2; again++) {
        snprintf(arguments, sizeof arguments, "%s %s", set, again ? "b" : "a");
        lesson_ok(&folder, (struct lesson){4, 3}, arguments);
    }
    lesson_dumps_equal(&folder, "a b");
    folder_close(&folder);
}
END_TEST

/* The products of sizes 7 to 64 and the forked ranks, with BLAS threads and without, and with each
 * test in a process of its own or all in one. */
START_TEST(blas_threads_and_forks_change_no_result)
{
    char command[ARGUMENTS_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=%d CK_FORK=%s BUILD=${LAUNCH%%/*}\n"
             "unset CK_RUN_CASE CK_RUN_SUITE CK_INCLUDE_TAGS CK_EXCLUDE_TAGS CK_XML_LOG_FILE_NAME\n"
             "exec \"$BUILD/check\" forks",
             _i % 2 ? 4 : 1, _i / 2 ? "yes" : "no");
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s\n%s%s", command, program.out, program.err);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *stairs_suite(void)
{
    Suite *suite = suite_create("stairs");
    TCase *tcase = tcase_create("stairs");
    tcase_set_timeout(tcase, 120);
    watched_add_rows(tcase, each_lesson_is_the_one_below_on_digits, RULES * WORLDS);
    tcase_add_loop_test(tcase, on_dyadic_numbers_every_lesson_and_world_has_lesson_1s_bits, 0,
                        WORLDS);
    tcase_add_loop_test(tcase, overlap_changes_no_bit_of_a_whole_run, 0, 2);
    watched_add_rows(tcase, compressed_lessons_agree_bit_for_bit, 2 * RULES * WORLDS);
    watched_add_rows(tcase, in_16_bits_each_lesson_is_the_one_below, 4 * WORLDS);
    tcase_add_test(tcase, a_rerun_has_the_same_bits);
    tcase_add_loop_test(tcase, blas_threads_and_forks_change_no_result, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
