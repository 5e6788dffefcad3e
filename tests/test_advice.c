/* --plan and --memory-limit: which choices fit, which is the simplest, and who is refused. */
#include "lesson04_zero/advice.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

static struct inside inside;
static struct advice advice;

static void advise(int world, const char *arguments, size_t limit_bytes)
{
    ck_assert_msg(inside_prepare(&inside, 4, world, arguments) == 0, "%s", inside.run.fail.text);
    advice.algorithms = choice_fixed(ALGORITHM_RING);
    advice_make(&advice, &inside.run, world, limit_bytes);
}

static size_t least_bytes(const char *name)
{
    for (size_t i = 0; i < advice.count; i++)
        if (strcmp(advice.choices[i].name, name) == 0)
            return advice.choices[i].total_bytes;
    ck_abort_msg("%s is no choice", name);
    return 0;
}

/* A limit that is one byte too small, and one that is just enough. */
START_TEST(a_choice_fits_from_its_own_bytes_on)
{
    static const char flags[] = "--hidden 300,300 --optimizer adam";
    advise(4, flags, 1);
    size_t enough = least_bytes("ZeRO 1");
    inside_close(&inside);
    advise(4, flags, enough - 1);
    ck_assert_ptr_null(advice_simplest_ranks(&advice));
    inside_close(&inside);
    advise(4, flags, enough);
    ck_assert_str_eq(advice_simplest_ranks(&advice)->name, "ZeRO 1");
    ck_assert_str_eq(advice_simplest_ranks(&advice)->flags, "launch -n 4 lesson04_zero --stage 1");
    inside_close(&inside);
}
END_TEST

static const struct {
    const char *arguments, *simplest;
    size_t mib;
    bool alone; // else asked for the simplest with ranks
} rows[] = {
    {"--hidden 64", "one process", 64, true},
    {"--hidden 64", "DDP", 64, false},
    {"--hidden 2000 --batch 1438 --optimizer adam", "  accumulating 2", 30, true},
    {"--hidden 700,700 --optimizer adam --batch 1438", "DDP", 16, false},
};

START_TEST(the_simplest_that_fits_is_named)
{
    advise(4, rows[_i].arguments, rows[_i].mib * MIB);
    const struct advice_choice *choice =
        rows[_i].alone ? advice_simplest(&advice) : advice_simplest_ranks(&advice);
    ck_assert_msg(choice != NULL, "nothing fits");
    ck_assert_str_eq(choice->name, rows[_i].simplest);
    inside_close(&inside);
}
END_TEST

START_TEST(a_plan_needs_no_other_rank_and_trains_nothing)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "exec \"${LAUNCH%/*}/lesson04_zero\" --plan --hidden 4096,4096 -n 4 "
                "--memory-limit 64 --optimizer adam");
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "network of 17088522 parameters, adam"));
    ck_assert_ptr_nonnull(strstr(program.out, "a rank may have 64.0 MiB"));
    ck_assert_ptr_nonnull(strstr(program.out, "\none process "));
    ck_assert_ptr_nonnull(strstr(program.out, "\nDDP "));
    ck_assert_ptr_nonnull(strstr(program.out, "\nZeRO 1 "));
    ck_assert_ptr_null(strstr(program.out, "updates of up to"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* The last sentence of a plan. */
static const struct {
    const char *flags, *says, *never;
} plans[] = {
    {"-n 1", "The simplest that fits: one process (lesson01_single).\n", "1 ranks"},
    {"-n 2", "uses 2 ranks, for speed: DDP (launch -n 2 lesson03_ddp).\n", "Nothing"},
    {"-n 4 --hidden 2048,2048,2048 --memory-limit 48 --bucket-kb 16000 --optimizer adam",
     "Nothing fits. The least is ", "data alone"},
    {"-n 2 --data wide.csv --task regress --hidden none --memory-limit 1",
     ": to read the data alone takes ", "smaller"},
};

START_TEST(what_a_plan_ends_with_is_so)
{
    struct folder folder;
    struct program program;
    char command[400];
    folder_open(&folder);
    snprintf(command, sizeof command,
             "for i in $(seq 60000); do echo 1,2,3,4,5; done > wide.csv; "
             "exec \"${LAUNCH%%/*}/lesson04_zero\" --plan %s",
             plans[_i].flags);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0 && strstr(program.out, plans[_i].says), "%s%s", program.out,
                  program.err);
    ck_assert_msg(!strstr(program.out, plans[_i].never), "%s", program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* 900 million parameters: whoever took them first would not live to refuse. */
START_TEST(a_run_above_its_limit_is_refused_before_it_takes_anything)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){4, 2}, "--hidden 30000,30000 --memory-limit 64", 2,
                 "--memory-limit 64: a rank of this run keeps ");
    lesson_fails(&folder, (struct lesson){4, 1}, "--hidden 30000,30000 --memory-limit 64", 2,
                 "too much");
    lesson_fails(&folder, (struct lesson){4, 2},
                 "--hidden 1500,1500 --optimizer adam --memory-limit 32 --stage 1 --batch 1438", 2,
                 "would fit");
    folder_close(&folder);
}
END_TEST

START_TEST(a_run_within_its_limit_trains)
{
    struct folder folder;
    folder_open(&folder);
    ck_assert_uint_gt(lesson_ok(&folder, (struct lesson){4, 2}, "--steps 2 --memory-limit 64"), 0);
    folder_close(&folder);
}
END_TEST

START_TEST(what_plan_would_ignore_is_refused)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){4, 1}, "--ranks 4", 2, "--ranks means nothing");
    lesson_fails(&folder, (struct lesson){4, 1}, "--plan --save d", 2, "exclude each other");
    lesson_fails(&folder, (struct lesson){4, 1}, "--plan -n 0", 2, "--ranks: expected");
    lesson_fails(&folder, (struct lesson){3, 1}, "--plan", 2, "exists from lesson 4 on");
    folder_close(&folder);
}
END_TEST

Suite *advice_suite(void)
{
    Suite *suite = suite_create("advice");
    TCase *tcase = tcase_create("choices");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_choice_fits_from_its_own_bytes_on);
    tcase_add_loop_test(tcase, the_simplest_that_fits_is_named, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tcase, a_plan_needs_no_other_rank_and_trains_nothing);
    tcase_add_loop_test(tcase, what_a_plan_ends_with_is_so, 0, sizeof plans / sizeof *plans);
    tcase_add_test(tcase, a_run_above_its_limit_is_refused_before_it_takes_anything);
    tcase_add_test(tcase, a_run_within_its_limit_trains);
    tcase_add_test(tcase, what_plan_would_ignore_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
