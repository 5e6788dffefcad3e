/*
 * Lessons 2 to 4 by every algorithm over every transport: real runs, whose proofs all hold, and
 * whose dumps agree wherever the order of additions is the same.
 *
 *     TCP = Unix sockets                  lesson 2
 *     one bucket = lesson 2               lesson 3: the same call
 *     buckets = lesson 2                  unless a ring of more than two is cut elsewhere
 *     lesson 4 = lesson 3                 where an algorithm has halves
 *
 * And ranks that were told to go by different ones find out before anything is added up.
 */
#include "lesson02_allreduce/algorithm.h"
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORLDS = 4, ALGORITHMS = ALGORITHM_AUTO + 1, ARGUMENTS_BYTES = 512 };

/* 2207 parameters, 9 KiB: direct sends them in parts, and small buckets whole. */
static const char set[] = "--data a.csv --test-data a.csv --hidden 31,50 --batch 50 --steps 3 "
                          "--verify 2 --dump-steps 3";
static const char small_buckets[] = "--first-bucket-kb 0.2 --bucket-kb 2";
static const char one_bucket[] = "--first-bucket-kb 100 --bucket-kb 100 --no-overlap";

static const char *const transports[] = {"tcp", "unix"};

/* A folder with a small data set: numbers of many digits, four classes. */
static void start(struct folder *folder)
{
    char rows[16 * 1024] = "", row[32];
    for (int i = 0; i < 120 * 13; i++) {
        bool last = i % 13 == 12;
        if (last)
            snprintf(row, sizeof row, "%d\n", i / 13 % 4);
        else
            snprintf(row, sizeof row, "%.5f,", sin(1.7 * i));
        lesson_row(rows, sizeof rows, row);
    }
    folder_open(folder);
    lesson_write(folder, "a.csv", rows);
}

/* Runs with the proof on and a dump; fails the test unless `words`, if any, are said. */
static void run(const struct folder *folder, struct lesson lesson, const char *dump,
                const char *more, const char *words)
{
    char arguments[ARGUMENTS_BYTES];
    struct program program;
    snprintf(arguments, sizeof arguments, "%s --dump %s %s", set, dump, more);
    lesson_run(&program, folder, lesson, arguments);
    ck_assert_msg(program.code == 0 && !strstr(program.out, "FAILED"), "lesson %d, %s: %d\n%s%s",
                  lesson.number, arguments, program.code, program.out, program.err);
    ck_assert_msg(strstr(program.out, "all hold") != NULL, "%s", program.out);
    ck_assert_msg(!words || strstr(program.out, words), "no '%s' in:\n%s", words, program.out);
    program_close(&program);
}

static void climb_two(const struct folder *folder, int world, const char *algorithm)
{
    char more[ARGUMENTS_BYTES], words[64];
    snprintf(words, sizeof words, "lesson 1's shares added in %s order", algorithm);
    for (size_t i = 0; i < 2; i++) {
        snprintf(more, sizeof more, "--algorithm %s --transport %s", algorithm, transports[i]);
        run(folder, (struct lesson){2, world}, transports[i], more,
            strcmp(algorithm, "auto") == 0 ? NULL : words); // auto names the one it took
    }
    lesson_dumps_equal(folder, "tcp unix");
}

static void climb_three(const struct folder *folder, int world, const char *algorithm, int turn)
{
    char more[ARGUMENTS_BYTES];
    bool exact = strcmp(algorithm, "ring") != 0 || world <= 2;
    snprintf(more, sizeof more, "--algorithm %s --transport %s %s", algorithm, transports[turn % 2],
             one_bucket);
    run(folder, (struct lesson){3, world}, "one", more,
        "buckets = lesson 2's all-reduce on the whole gradient");
    lesson_dumps_equal(folder, "tcp one");
    snprintf(more, sizeof more, "--algorithm %s --transport %s %s", algorithm,
             transports[(turn + 1) % 2], small_buckets);
    run(folder, (struct lesson){3, world}, "three", more,
        exact ? "buckets = lesson 2's all-reduce on the whole gradient"
              : "buckets ~ lesson 2's all-reduce on the whole gradient");
    lesson_dumps_equal(folder, exact ? "tcp three" : "tcp three --tolerance 1e-5");
}

static void climb_four(const struct folder *folder, int world, enum algorithm algorithm, int turn)
{
    char more[ARGUMENTS_BYTES];
    struct lesson lesson = {4, world};
    snprintf(more, sizeof more, "--algorithm %s --transport %s %s", algorithm_name(algorithm),
             transports[turn % 2], small_buckets);
    if (algorithm == ALGORITHM_ROOT || algorithm == ALGORITHM_TREE ||
        algorithm == ALGORITHM_HALVING) {
        lesson_fails(folder, lesson, more, 2, "which only these have: ring | direct | auto");
        return;
    }
    run(folder, lesson, "four", more, NULL);
    lesson_dumps_equal(folder, "three four");
}

START_TEST(every_lesson_is_the_one_below_by_this_algorithm)
{
    enum algorithm algorithm = (enum algorithm)(_i % ALGORITHMS);
    int world = 1 + _i / ALGORITHMS;
    struct folder folder;
    start(&folder);
    climb_two(&folder, world, algorithm_name(algorithm));
    climb_three(&folder, world, algorithm_name(algorithm), (int)algorithm + world);
    climb_four(&folder, world, algorithm, (int)algorithm + world);
    folder_close(&folder);
}
END_TEST

/* A table that gives a bucket to another algorithm than the whole: the same bits are not promised,
 * nor asked for. With one for both, or two that add in the same order, they are. */
START_TEST(a_choice_that_differs_by_size_has_a_bound_in_place_of_bits)
{
    static const struct {
        const char *rows, *words;
        bool in_lesson_4;
    } tables[] = {
        {"up to 4096 direct\nany ring\n", "buckets ~ lesson 2's all-reduce on the whole gradient",
         true},
        {"up to 4096 ring\nany direct\n", "buckets ~ lesson 2's all-reduce on the whole gradient",
         true},
        {"up to 99999 direct\nany ring\n", "buckets = lesson 2's all-reduce on the whole gradient",
         true},
        {"up to 4096 root\nany direct\n", "buckets = lesson 2's all-reduce on the whole gradient",
         false},
        {"up to 4096 tree\nany direct\n", "buckets ~ lesson 2's all-reduce on the whole gradient",
         false},
    };
    char text[256], more[ARGUMENTS_BYTES];
    struct folder folder;
    start(&folder);
    snprintf(text, sizeof text, "staircase tuning 1, world 3, transport tcp\n%s", tables[_i].rows);
    lesson_write(&folder, "t", text);
    snprintf(more, sizeof more, "--algorithm auto --tuning t %s", small_buckets);
    run(&folder, (struct lesson){3, 3}, "three", more, tables[_i].words);
    if (tables[_i].in_lesson_4) {
        run(&folder, (struct lesson){4, 3}, "four", more, NULL);
        lesson_dumps_equal(&folder, "three four");
    }
    folder_close(&folder);
}
END_TEST

/* --- ranks that were told otherwise ---------------------------------------------------------- */

/* One command line for each of two ranks. */
static void run_two(struct program *program, const struct folder *folder, const char *lesson,
                    const char *const arguments[2])
{
    char command[2 * ARGUMENTS_BYTES];
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1 LESSON=${LAUNCH%%/*}/%s; "
             "exec $LAUNCH -n 2 sh -c 'if [ $RANK = 0 ]; then exec $LESSON --data a.csv %s; "
             "else exec $LESSON --data a.csv %s; fi'",
             lesson, arguments[0], arguments[1]);
    program_run(program, folder->path, command);
}

static void write_tables(const struct folder *folder)
{
    static const char head[] = "staircase tuning 1, world 2, transport tcp\n";
    static const struct {
        const char *name, *rows;
    } tables[] = {{"ring", "any ring\n"},
                  {"both", "up to 4096 direct\nany ring\n"},
                  {"later", "up to 4097 direct\nany ring\n"},
                  {"again", "up to 4096 direct\nany ring\n"}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", head, tables[i].rows);
        lesson_write(folder, tables[i].name, text);
    }
}

static const struct {
    const char *lesson, *arguments[2];
} unlike[] = {
    {"lesson02_allreduce", {"--algorithm ring", "--algorithm tree"}},
    {"lesson02_allreduce", {"--algorithm auto", "--algorithm direct"}},
    {"lesson02_allreduce", {"--transport tcp", "--transport unix"}},
    {"lesson02_allreduce", {"--link 1gbit,1ms", "--link 1gbit,2ms"}},
    {"lesson02_allreduce", {"--bench --bench-most 4", "--bench --bench-most 4 --algorithm ring"}},
    {"lesson03_ddp", {"--algorithm auto --tuning both", "--algorithm auto"}},
    {"lesson03_ddp", {"--algorithm auto --tuning both", "--algorithm auto --tuning later"}},
    {"lesson04_zero", {"--algorithm auto --tuning ring", "--algorithm auto --tuning both"}},
    {"lesson04_zero", {"--algorithm auto --tuning ring", "--algorithm ring"}},
};

START_TEST(ranks_that_would_choose_otherwise_are_both_told_so_at_start)
{
    static const char said[] = "rank 1 was started with other options or data than rank 0";
    struct program program;
    struct folder folder;
    start(&folder);
    write_tables(&folder);
    run_two(&program, &folder, unlike[_i].lesson, unlike[_i].arguments);
    const char *first = strstr(program.err, said);
    ck_assert_msg(program.code == 1 && first && strstr(first + 1, said), "%d: %s%s", program.code,
                  program.out, program.err);
    ck_assert_msg(!strstr(program.out, "verify"), "%s", program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* On every machine the table may have a name of its own. */
START_TEST(ranks_whose_tables_say_the_same_agree)
{
    static const char *const arguments[] = {"--algorithm auto --tuning both --steps 2",
                                            "--algorithm auto --tuning again --steps 2"};
    struct program program;
    struct folder folder;
    start(&folder);
    write_tables(&folder);
    run_two(&program, &folder, "lesson02_allreduce", arguments);
    ck_assert_msg(program.code == 0 && strstr(program.out, "all hold"), "%s", program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *algorithms_suite(void)
{
    Suite *suite = suite_create("algorithms");
    TCase *tcase = tcase_create("algorithms");
    watched_add_rows(tcase, every_lesson_is_the_one_below_by_this_algorithm, ALGORITHMS * WORLDS);
    tcase_add_loop_test(tcase, a_choice_that_differs_by_size_has_a_bound_in_place_of_bits, 0, 5);
    tcase_add_loop_test(tcase, ranks_that_would_choose_otherwise_are_both_told_so_at_start, 0,
                        sizeof unlike / sizeof *unlike);
    tcase_add_test(tcase, ranks_whose_tables_say_the_same_agree);
    suite_add_tcase(suite, tcase);
    return suite;
}
