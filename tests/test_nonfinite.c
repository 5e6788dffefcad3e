/* A loss or a gradient that is not finite on one rank: one decision for all, who caused it is named, and
 * a step without an update leaves no trace in parameters, state, schedule or Adam's count. */
#include "tests/lessons.h"
#include "tests/mutants.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_BYTES = 768, STAIRS = 7, DUMPED = 6, SAVED = 6, BATCH = 4 };

/* Batches of four samples, of which those whose bit is set in `bad` end with `sample`. */
static void write_batches(const struct folder *folder, const char *name, int batches, unsigned bad,
                          const char *sample)
{
    char rows[2048] = "";
    for (int batch = 0; batch < batches; batch++)
        for (int i = 0; i < BATCH; i++) {
            bool last = i == BATCH - 1 && bad >> batch & 1;
            lesson_row(rows, sizeof rows, last ? sample : i % 2 ? "0.5,1\n" : "0.25,0\n");
        }
    lesson_write(folder, name, rows);
}

static const char set[] = "--data %s --test-data good.csv --hidden none --no-bias --init const:2 "
                          "--no-shuffle --batch 4 --optimizer adam --lr 0.01 --schedule halve:2 "
                          "--warmup 2 --task %s ";

/* What must all do the same: the lessons, and of the last one each stage, and the file. */
static const struct {
    struct lesson lesson;
    const char *flags;
} stairs[STAIRS] = {
    {{1, 1}, ""},
    {{2, 4}, ""},
    {{3, 4}, ""},
    {{4, 4}, "--stage 1"},
    {{4, 4}, "--stage 2"},
    {{4, 4}, "--stage 3"},
    {{4, 4}, "--offload o"},
};

static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

/* The same bits in two files of dumps. */
static void same_weight(const struct folder *folder, size_t count, const char *one,
                        const char *other)
{
    static const char tensor[] = "param.fc1.weight";
    float a[2], b[2]; // one row to each class, or one in all
    lesson_read(folder, one, tensor, a, count);
    lesson_read(folder, other, tensor, b, count);
    ck_assert_msg(memcmp(a, b, count * sizeof *a) == 0, "%s and %s: %a and %a", one, other,
                  (double)a[0], (double)b[0]);
    ck_assert(isfinite(a[0]));
}

static const char *const tasks[] = {"regress", "classify"}; // an overflow; of two the difference
static const char *const losses[] = {"infinite", "NaN"};

/* A run whose third batch has the bad sample, on the last rank, and a run without that batch. */
START_TEST(a_skipped_step_is_a_step_that_never_was)
{
    struct lesson lesson = stairs[_i / 2].lesson;
    const char *task = tasks[_i % 2];
    size_t count = _i % 2 ? 2 : 1;
    char arguments[ARGUMENTS_BYTES], words[96], with[96], without[96];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    write_batches(&folder, "bad.csv", 6, 1 << 2, "3e38,1\n");
    write_batches(&folder, "good.csv", 5, 0, "");
    int width = snprintf(arguments, sizeof arguments, set, "bad.csv", task);
    snprintf(arguments + width, sizeof arguments - (size_t)width,
             "%s --on-nonfinite skip --steps 6 --dump %s --dump-steps 6 --metrics m.jsonl",
             stairs[_i / 2].flags, task);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_msg(program.code == 0, "%d: %s%s", program.code, program.out, program.err);
    snprintf(words, sizeof words, "step 2: the loss of rank %d is %s: no update; 1 skipped so far",
             lesson.world - 1, losses[_i % 2]);
    ck_assert_msg(strstr(program.out, words), "not: %s\nbut: %s", words, program.out);
    ck_assert_msg(strstr(program.out, " | 1 of 6 updates skipped | "), "%s", program.out);
    ck_assert_msg(strstr(program.out, "all hold"), "%s", program.out);
    program_close(&program);

    width = snprintf(arguments, sizeof arguments, set, "good.csv", task);
    snprintf(arguments + width, sizeof arguments - (size_t)width,
             "%s --steps 5 --dump good-%s --dump-steps 5", stairs[_i / 2].flags, task);
    lesson_ok(&folder, lesson, arguments);
    for (int rank = 0; rank < lesson.world; rank++) {
        snprintf(with, sizeof with, "%s/rank-%d/step-000005.safetensors", task, rank);
        snprintf(without, sizeof without, "good-%s/rank-%d/step-000004.safetensors", task, rank);
        same_weight(&folder, count, with, without);
        snprintf(without, sizeof without, "%s/rank-0/step-000005.safetensors", task);
        same_weight(&folder, count, with, without); // as on every other rank
        snprintf(with, sizeof with, "%s/rank-%d/step-000002.safetensors", task, rank);
        snprintf(without, sizeof without, "%s/rank-%d/step-000001.safetensors", task, rank);
        same_weight(&folder, count, with, without);
    }
    folder_close(&folder);
}
END_TEST

/* Unless it is told otherwise. */
START_TEST(every_rank_stops_in_the_same_step)
{
    struct lesson lesson = stairs[_i / 2].lesson;
    char arguments[ARGUMENTS_BYTES], words[96];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    write_batches(&folder, "bad.csv", 4, 1 << 2, "3e38,1\n");
    write_batches(&folder, "good.csv", 1, 0, "");
    int width = snprintf(arguments, sizeof arguments, set, "bad.csv", tasks[_i % 2]);
    snprintf(arguments + width, sizeof arguments - (size_t)width, "%s --steps 4 --metrics m.jsonl",
             stairs[_i / 2].flags);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_msg(program.code == 1, "%d: %s%s", program.code, program.out, program.err);
    snprintf(words, sizeof words, "step 2: the loss of rank %d is %s: no update was made",
             lesson.world - 1, losses[_i % 2]);
    ck_assert_msg(count_of(program.err, words) == (size_t)lesson.world, "not: %s\nbut: %s", words,
                  program.err);
    for (int rank = 0; rank < lesson.world; rank++) { // two updates were made, everywhere
        char name[32] = "m.jsonl";
        double loss[8];
        if (lesson.world > 1)
            snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
        ck_assert_uint_eq(lesson_values(&folder, name, "loss", loss, 8), 2);
    }
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(the_count_is_in_the_metrics_and_the_mean_leaves_the_step_out)
{
    char arguments[ARGUMENTS_BYTES], *text;
    double skipped[8], lr[8], train[2];
    struct folder folder;
    folder_open(&folder);
    write_batches(&folder, "bad.csv", 4, 1 << 1, "3e38,1\n");
    write_batches(&folder, "good.csv", 2, 0, "");
    int width = snprintf(arguments, sizeof arguments, set, "bad.csv", "classify");
    snprintf(arguments + width, sizeof arguments - (size_t)width,
             "%s --on-nonfinite skip --epochs 1 --metrics m.jsonl", stairs[_i].flags);
    lesson_ok(&folder, stairs[_i].lesson, arguments);
    const char *name = _i == 0 ? "m.jsonl" : "m.rank-1.jsonl";
    ck_assert_uint_eq(lesson_values(&folder, name, "skipped", skipped, 8), 5);
    static const double expected[] = {0, 1, 1, 1, 1}; // four steps, the summary
    ck_assert(memcmp(skipped, expected, sizeof expected) == 0);
    ck_assert_uint_eq(lesson_values(&folder, name, "lr", lr, 8), 4);
    ck_assert(lr[0] == 0.005 && lr[1] == 0.01 && lr[2] == 0.01 && lr[3] == 0.005);
    ck_assert_uint_ge(lesson_values(&folder, name, "train_loss", train, 2), 1);
    ck_assert(isfinite(train[0]) && train[0] > 0); // null would read as 0
    text = lesson_text(&folder, name);
    ck_assert_msg(strstr(text, "\"loss\":null") != NULL, "%s", text);
    free(text);
    folder_close(&folder);
}
END_TEST

/* What the four ranks' samples do: each a gradient no float holds, though a double holds the loss; or one that
 * overflows only when all are added. */
static const struct {
    struct lesson lesson;
    const char *first, *last; // samples: of all ranks but the last, of that one
    const char *words, *flags;
} gradients[] = {
    {{2, 4}, "1,1\n", "9,3e38\n", "the gradient of rank 3 overflowed", ""},
    {{3, 4}, "1,1\n", "9,3e38\n", "the gradient of rank 3 overflowed", ""},
    {{4, 4}, "1,1\n", "9,3e38\n", "the gradient of rank 3 overflowed", ""},
    {{4, 4}, "1,1\n", "9,3e38\n", "the gradient of rank 3 overflowed", "--stage 2"},
    {{4, 4}, "1,1\n", "9,3e38\n", "the gradient of rank 3 overflowed", "--stage 3"},
    {{1, 1}, "1,1\n", "9,3e38\n", "the gradient of rank 0 overflowed", ""},
    {{3, 4}, "1,1.9e38\n", "1,1.9e38\n", "the sum of all ranks' gradients overflowed", ""},
};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

static void run_gradients(struct program *program, int row, const char *flags)
{
    char rows[512] = "", arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < 2 * BATCH; i++)
        lesson_row(rows, sizeof rows,
                   i < BATCH       ? "1,1\n"
                   : i % BATCH < 3 ? gradients[row].first
                                   : gradients[row].last);
    lesson_write(&folder, "a.csv", rows);
    lesson_write(&folder, "good.csv", "1,1\n1,1\n");
    int width = snprintf(arguments, sizeof arguments, set, "a.csv", "regress");
    snprintf(arguments + width, sizeof arguments - (size_t)width, "--steps 2 %s %s", flags,
             gradients[row].flags);
    lesson_run(program, &folder, gradients[row].lesson, arguments);
    folder_close(&folder);
}

START_TEST(a_gradient_that_overflows_is_skipped_and_its_rank_named)
{
    char words[128];
    struct program program;
    run_gradients(&program, _i, "--on-nonfinite skip --verify 1");
    ck_assert_msg(program.code == 0, "%d: %s%s", program.code, program.out, program.err);
    snprintf(words, sizeof words, "step 1: %s: no update; 1 skipped so far", gradients[_i].words);
    ck_assert_msg(strstr(program.out, words), "not: %s\nbut: %s", words, program.out);
    program_close(&program);
}
END_TEST

START_TEST(where_the_norm_shows_it_its_rank_is_named_too)
{
    char words[128];
    struct program program;
    run_gradients(&program, _i, "--clip 1 --verify 1");
    ck_assert_msg(program.code == 1, "%d: %s%s", program.code, program.out, program.err);
    snprintf(words, sizeof words, "as %s: no update was made", gradients[_i].words);
    ck_assert_msg(strstr(program.err, words) && strstr(program.err, "step 1: the gradient's norm"),
                  "not: %s\nbut: %s", words, program.err);
    ck_assert_uint_eq(count_of(program.err, words), (size_t)gradients[_i].lesson.world);
    program_close(&program);
}
END_TEST

/* A rank's own gradient is the data's doing. When no rank's own is, a verified step is left to the proof. */
START_TEST(a_verified_step_is_skipped_for_a_ranks_own_gradient_only)
{
    struct program program;
    run_gradients(&program, 1 + _i, "--on-nonfinite skip");
    ck_assert_msg(program.code == 0 && strstr(program.out, "step 1: the gradient of rank 3"),
                  "%s%s", program.out, program.err);
    program_close(&program);
    run_gradients(&program, GRADIENTS - 1, "--on-nonfinite skip");
    ck_assert_msg(program.code == 3, "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
}
END_TEST

/* Ten in a row are skipped, and the count begins again after a step that was not. */
START_TEST(what_does_not_pass_by_itself_stops_the_run)
{
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    struct program program;
    struct lesson lesson = stairs[_i].lesson;
    folder_open(&folder);
    write_batches(&folder, "bad.csv", 23, 0x7ff7fe, "3e38,1\n"); // steps 1 to 10, 12 to 22
    write_batches(&folder, "good.csv", 1, 0, "");
    int width = snprintf(arguments, sizeof arguments, set, "bad.csv", "classify");
    snprintf(arguments + width, sizeof arguments - (size_t)width,
             "%s --on-nonfinite skip --epochs 1", stairs[_i].flags);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_msg(program.code == 1, "%d: %s%s", program.code, program.out, program.err);
    snprintf(arguments, sizeof arguments,
             "step 22: the loss of rank %d is NaN: no update was made, nor in the 10 steps before",
             lesson.world - 1);
    ck_assert_uint_eq(count_of(program.err, arguments), (size_t)lesson.world);
    ck_assert_msg(strstr(program.out, "20 skipped so far"), "%s", program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Schedule and bias correction go on from the updates that were made. */
START_TEST(a_resumed_run_knows_what_was_skipped)
{
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    struct lesson lesson = stairs[_i].lesson;
    static const char *const runs[] = {
        "--steps 7 --dump whole --dump-steps 7",
        "--steps 4 --save s --dump half --dump-steps 7",
        "--steps 7 --save s --resume s --dump half --dump-steps 7",
    };
    folder_open(&folder);
    write_batches(&folder, "bad.csv", 7, 1 << 1 | 1 << 3, "3e38,1\n");
    write_batches(&folder, "good.csv", 1, 0, "");
    for (int i = 0; i < 3; i++) {
        int width = snprintf(arguments, sizeof arguments, set, "bad.csv", "regress");
        snprintf(arguments + width, sizeof arguments - (size_t)width, "%s --on-nonfinite skip %s",
                 stairs[_i].flags, runs[i]);
        lesson_ok(&folder, lesson, arguments);
    }
    same_weight(&folder, 1, "whole/rank-0/step-000006.safetensors",
                "half/rank-0/step-000006.safetensors");
    folder_close(&folder);
}
END_TEST

/* Lesson 4's replica of lesson 3 counts for itself. fp16 begins with a scale that is too large here. */
START_TEST(a_schedule_that_counts_skipped_steps_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/run.c",
        .text = "size_t made = run->optimizer.updates - run->optimizer.skipped;",
        .mistake = "size_t made = run->optimizer.updates;",
        .lesson = {4, 2},
        .arguments = "--steps 9 --precision fp16 --task regress --batch 8 --warmup 50",
        .proof = "parameters = lesson 3's parameters",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

Suite *nonfinite_suite(void)
{
    Suite *suite = suite_create("nonfinite");
    TCase *tcase = tcase_create("nonfinite");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_skipped_step_is_a_step_that_never_was, 0, 2 * DUMPED);
    tcase_add_loop_test(tcase, every_rank_stops_in_the_same_step, 0, 2 * STAIRS);
    tcase_add_loop_test(tcase, the_count_is_in_the_metrics_and_the_mean_leaves_the_step_out, 0,
                        STAIRS);
    tcase_add_loop_test(tcase, a_gradient_that_overflows_is_skipped_and_its_rank_named, 0,
                        GRADIENTS);
    tcase_add_loop_test(tcase, where_the_norm_shows_it_its_rank_is_named_too, 0, GRADIENTS);
    tcase_add_loop_test(tcase, a_verified_step_is_skipped_for_a_ranks_own_gradient_only, 0, 4);
    tcase_add_loop_test(tcase, what_does_not_pass_by_itself_stops_the_run, 0, STAIRS);
    tcase_add_loop_test(tcase, a_resumed_run_knows_what_was_skipped, 0, SAVED);
    tcase_add_test(tcase, a_schedule_that_counts_skipped_steps_is_found_by_lesson_4);
    suite_add_tcase(suite, tcase);
    return suite;
}
