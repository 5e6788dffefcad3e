/* The programs from the first step to the last: small runs whose numbers are worked by hand. */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every lesson, with two ranks where it has them. */
static const struct lesson lessons[] = {{1, 1}, {2, 2}, {3, 2}, {4, 2}};
enum { LESSONS = sizeof lessons / sizeof *lessons, ARGUMENTS_BYTES = 512 };

/* A linear model on a.csv, in the file's order, one update and its dump unless `more` says else. */
static void fit(const struct folder *folder, struct lesson lesson, const char *rows,
                const char *more)
{
    char arguments[ARGUMENTS_BYTES];
    lesson_write(folder, "a.csv", rows);
    snprintf(arguments, sizeof arguments,
             "--data a.csv --test-data a.csv --task regress --hidden none --no-shuffle "
             "--momentum 0 --steps 1 --dump d --dump-steps 1 %s",
             more);
    lesson_ok(folder, lesson, arguments);
}

static void check_dump(const struct folder *folder, int rank, const char *tensor,
                       const double *expected, size_t count)
{
    char path[64];
    float values[8];
    snprintf(path, sizeof path, "d/rank-%d/step-000000.safetensors", rank);
    lesson_read(folder, path, tensor, values, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs((double)values[i] - expected[i]) < 2e-6, "rank %d: %s[%zu] is %.9g",
                      rank, tensor, i, (double)values[i]);
}

/* The same parameter on every rank; the gradient where it is whole. */
static void check_update(const struct folder *folder, struct lesson lesson, double grad,
                         double param)
{
    for (int rank = 0; rank < lesson.world; rank++) {
        if (lesson.number < 4 || rank == 0) // of lesson 4's ranks, rank 0 owns the one element
            check_dump(folder, rank, "grad.fc1.weight", &grad, 1);
        check_dump(folder, rank, "param.fc1.weight", &param, 1);
    }
}

/* --- one update ------------------------------------------------------------------------------ */

/* y = w x, w = 0.5, target 0: gradients 1, 4, 9, 16. Their sum is 30, half their mean 3.75. */
START_TEST(the_gradient_is_the_mean_over_all_ranks_and_only_once)
{
    struct folder folder;
    folder_open(&folder);
    fit(&folder, lessons[_i], "1,0\n2,0\n3,0\n4,0\n",
        "--no-bias --init const:0.5 --batch 4 --lr 0.1");
    check_update(&folder, lessons[_i], 7.5, -0.25);
    folder_close(&folder);
}
END_TEST

/* Gradients 2, 4 in the first micro-batch and 6, 12 in the second, by turns on both ranks. */
START_TEST(both_micro_batches_are_reduced_once)
{
    struct folder folder;
    folder_open(&folder);
    fit(&folder, lessons[_i], "1,-0.5\n1,-1.5\n1,-2.5\n1,-5.5\n",
        "--no-bias --init const:0.5 --batch 2 --accumulate 2 --lr 0.1");
    check_update(&folder, lessons[_i], 6, -0.1);
    folder_close(&folder);
}
END_TEST

/* (6, 0) on one rank and (0, 8) on the other: the mean (3, 4) is clipped, not what it is made
 * of. */
START_TEST(the_mean_is_clipped)
{
    static const double param[2] = {-0.6, -0.8};
    struct folder folder;
    folder_open(&folder);
    fit(&folder, lessons[_i], "1,0,-3\n0,1,-4\n",
        "--no-bias --init const:0 --batch 2 --lr 1 --clip 1");
    for (int rank = 0; rank < lessons[_i].world; rank++)
        check_dump(&folder, rank, "param.fc1.weight", param, 2);
    folder_close(&folder);
}
END_TEST

/* With two ranks the edge of the shards lies within the weight. */
START_TEST(weights_decay_and_the_bias_does_not)
{
    static const double weight[4] = {0.95, 0.95, 0.95, 0.95}, bias = 1;
    struct folder folder;
    folder_open(&folder);
    fit(&folder, lessons[_i], "0,0,0,0,1\n0,0,0,0,1\n",
        "--init const:1 --batch 2 --lr 0.1 --weight-decay 0.5");
    for (int rank = 0; rank < lessons[_i].world; rank++) {
        check_dump(&folder, rank, "param.fc1.weight", weight, 4);
        check_dump(&folder, rank, "param.fc1.bias", &bias, 1);
    }
    folder_close(&folder);
}
END_TEST

/* --- what is reported ------------------------------------------------------------------------ */

/* Losses 1, 1 on rank 0 and 4 on rank 1. The mean of the means would be 2.5. */
START_TEST(the_loss_is_the_mean_over_all_samples_of_all_ranks)
{
    static const double local[2] = {1, 4};
    struct folder folder;
    folder_open(&folder);
    fit(&folder, lessons[_i], "1,1\n1,1\n1,2\n",
        "--no-bias --init const:0 --batch 3 --lr 0.1 --metrics m.jsonl");
    for (int rank = 0; rank < 2; rank++) {
        char name[32];
        double value;
        snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
        ck_assert_uint_eq(lesson_values(&folder, name, "loss", &value, 1), 1);
        ck_assert(value == 2);
        ck_assert_uint_eq(lesson_values(&folder, name, "loss_local", &value, 1), 1);
        ck_assert(value == local[rank]);
    }
    folder_close(&folder);
}
END_TEST

/* Batches of 64, 64 and 2 samples with mean losses 0.4, 0.6 and 2; the means' mean is 1. */
START_TEST(the_loss_of_an_epoch_weighs_a_short_last_batch_by_its_samples)
{
    static const char *const files[] = {"m.jsonl", "m.rank-0.jsonl", "m.rank-0.jsonl",
                                        "m.rank-0.jsonl"};
    char rows[4096] = "", arguments[ARGUMENTS_BYTES];
    for (int i = 0; i < 130; i++)
        lesson_row(rows, sizeof rows,
                   i < 64    ? "0,0.6324555\n"
                   : i < 128 ? "0,0.7745967\n"
                             : "0,1.4142136\n");
    struct folder folder;
    double value;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", rows);
    snprintf(arguments, sizeof arguments,
             "--data a.csv --test-data a.csv --task regress --hidden none --no-bias --init "
             "const:0 --no-shuffle --batch 64 --epochs 1 --metrics m.jsonl");
    lesson_ok(&folder, lessons[_i], arguments);
    ck_assert_uint_eq(lesson_values(&folder, files[_i], "train_loss", &value, 1), 1);
    ck_assert_msg(fabs(value - 68.0 / 130) < 1e-6, "%.9g", value);
    ck_assert_uint_eq(lesson_values(&folder, files[_i], "test_loss", &value, 1), 1);
    ck_assert_msg(fabs(value - 68.0 / 130) < 1e-6, "%.9g", value);
    folder_close(&folder);
}
END_TEST

START_TEST(the_schedule_counts_updates_whatever_the_world)
{
    double lr[40];
    struct folder folder;
    folder_open(&folder);
    fit(&folder, (struct lesson){2 + _i, 3}, "1,0\n2,0\n3,0\n",
        "--init const:0 --batch 3 --lr 0.1 --schedule halve:15 --steps 31 --metrics m.jsonl");
    ck_assert_uint_ge(lesson_values(&folder, "m.rank-2.jsonl", "lr", lr, 40), 31);
    for (size_t i = 0; i < 31; i++)
        ck_assert(lr[i] == 0.1 / (double)(1 << (i / 15)));
    folder_close(&folder);
}
END_TEST

/* Shares of 34, 33 and 33 samples: in the last step two ranks have nothing to do. */
START_TEST(a_hundred_samples_on_three_ranks_are_all_used_and_nobody_hangs)
{
    char rows[1024] = "";
    double samples[8];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < 100; i++)
        lesson_row(rows, sizeof rows, i % 3 ? "1,0.5\n" : "2,1.5\n");
    lesson_write(&folder, "a.csv", rows);
    lesson_run(&program, &folder, (struct lesson){2 + _i, 3},
               "--data a.csv --test-data a.csv --task regress --hidden none --per-rank-batch 11 "
               "--epochs 1 --metrics m.jsonl");
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "100 training"));
    for (int rank = 0; rank < 3; rank++) {
        char name[32];
        snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
        ck_assert_uint_ge(lesson_values(&folder, name, "samples", samples, 8), 4);
        ck_assert(samples[0] + samples[1] + samples[2] + samples[3] == 100);
    }
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Accumulation does not add to what is sent. */
START_TEST(each_bucket_is_sent_once_an_update_however_many_micro_batches)
{
    double bytes[3];
    for (int accumulate = 1; accumulate <= 3; accumulate++) {
        char arguments[ARGUMENTS_BYTES];
        struct folder folder;
        folder_open(&folder);
        snprintf(arguments, sizeof arguments,
                 "--hidden 8 --steps 1 --no-verify --batch 8 --accumulate %d --metrics m.jsonl",
                 accumulate);
        lesson_ok(&folder, (struct lesson){2 + _i, 2}, arguments);
        ck_assert_uint_ge(
            lesson_values(&folder, "m.rank-1.jsonl", "bytes_sent", &bytes[accumulate - 1], 1), 1);
        folder_close(&folder);
    }
    ck_assert(bytes[0] > 0 && bytes[1] == bytes[0] && bytes[2] == bytes[0]);
}
END_TEST

/* --- what is not finite ---------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

/* Rank 3 of 4 meets its bad sample in step 2: an overflow, or of two overflows the difference. */
START_TEST(a_loss_that_is_not_finite_stops_every_rank_in_the_same_step)
{
    static const char *const tasks[] = {"regress", "classify"};
    char rows[512] = "", arguments[ARGUMENTS_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < 16; i++)
        lesson_row(rows, sizeof rows, i == 11 ? "3e38,1\n" : i % 2 ? "0.5,1\n" : "0.25,0\n");
    lesson_write(&folder, "a.csv", rows);
    snprintf(arguments, sizeof arguments,
             "--data a.csv --test-data a.csv --task %s --hidden none --no-bias --init const:2 "
             "--no-shuffle --batch 4 --lr 0.01 --no-verify --steps 4 --metrics m.jsonl",
             tasks[_i % 2]);
    lesson_run(&program, &folder, (struct lesson){2 + _i / 2, 4}, arguments);
    ck_assert_msg(program.code == 1, "%d: %s%s", program.code, program.out, program.err);
    ck_assert_msg(count_of(program.err, "step 2: the loss of rank 3 is") == 4, "%s", program.err);
    for (int rank = 0; rank < 4; rank++) { // two steps were made, everywhere
        char name[32];
        double loss[8];
        snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
        ck_assert_uint_eq(lesson_values(&folder, name, "loss", loss, 8), 2);
        ck_assert(isfinite(loss[0]) && isfinite(loss[1]));
    }
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* The only update leaves parameters that are Inf: nobody would see it in a later step. */
START_TEST(an_update_that_diverges_is_not_saved_nor_called_a_success)
{
    static const char *const ends[] = {"", "--save s --save-every 1"};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1e17,1\n");
    for (size_t i = 0; i < 2; i++) {
        char arguments[ARGUMENTS_BYTES];
        snprintf(arguments, sizeof arguments,
                 "--data a.csv --test-data a.csv --task regress --hidden none --no-bias --lr 1e6 "
                 "--init const:1 --momentum 0 --no-verify --steps 1 %s",
                 ends[i]);
        lesson_fails(&folder, lessons[_i], arguments, 1, "step 0: after its update");
    }
    program_run(&program, folder.path, "ls -A s");
    ck_assert_str_eq(program.out, "");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* With outputs in the millions exp() of their uncertainty overflows; the proof must still be
 * one. */
START_TEST(a_run_that_diverges_is_still_verified)
{
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, lessons[_i], "--lr 1000 --steps 5 --verify 5");
    folder_close(&folder);
}
END_TEST

/* Rank 1 cannot write its second dump, for a folder has its name; the others only lose rank 1. */
START_TEST(the_rank_that_failed_is_named_not_the_ones_that_lost_it)
{
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir -p d/rank-1/step-000001.safetensors");
    program_close(&program);
    for (int run = 0; run < 4; run++) {
        lesson_run(&program, &folder, (struct lesson){_i, 3},
                   "--data synthetic --epochs 1 --no-verify --dump d");
        ck_assert_int_eq(program.code, 1);
        ck_assert_msg(strstr(program.err, "first cause: rank 1"), "%s", program.err);
        ck_assert_msg(!strstr(program.err, ": rank 0: rank 0"), "%s", program.err);
        program_close(&program);
    }
    folder_close(&folder);
}
END_TEST

/* Rank 1 alone cannot write its metrics. The others wait for it, and learn why it does not come. There is no
 * launcher, which would end them when it has. */
START_TEST(a_rank_that_cannot_start_tells_the_others_why)
{
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir m.rank-1.jsonl");
    program_close(&program);
    static const char *const programs[] = {"lesson02_allreduce", "lesson03_ddp", "lesson04_zero"};
    char command[ARGUMENTS_BYTES];
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d; "
             "for r in 0 1 2; do RANK=$r \"${LAUNCH%%/*}/%s\" --steps 1 --metrics m.jsonl & done; "
             "wait",
             program_port(), programs[_i]);
    program_run(&program, folder.path, command);
    ck_assert_msg(count_of(program.err, "rank 1: --metrics: ") == 3, "%s", program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_device_takes_the_metrics_of_all_ranks)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "ln -s /dev/null m.jsonl; ln -s /dev/null t.json");
    program_close(&program);
    lesson_ok(&folder, (struct lesson){2, 2},
              "--steps 2 --metrics m.jsonl --trace t.json --save s");
    lesson_ok(&folder, (struct lesson){2, 2}, "--steps 4 --metrics m.jsonl --resume s");
    program_run(&program, folder.path, "echo *");
    ck_assert_str_eq(program.out, "m.jsonl s t.json\n");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(one_of_a_thing_is_said_in_the_singular)
{
    static const char one[] = "--data a.csv --test-data a.csv --task regress --hidden none "
                              "--no-bias --batch 1 --steps 1";
    char arguments[ARGUMENTS_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,2\n2,4\n");
    snprintf(arguments, sizeof arguments, "%s --save s", one);
    lesson_run(&program, &folder, (struct lesson){1, 1}, arguments);
    ck_assert_ptr_nonnull(strstr(program.out, " of 1 parameter, 1 update of up to 1 sample\n"));
    program_close(&program);
    snprintf(arguments, sizeof arguments, "%s --resume s", one);
    lesson_fails(&folder, (struct lesson){1, 1}, arguments, 2, "1 update was made already");
    folder_close(&folder);
}
END_TEST

START_TEST(output_that_cannot_be_written_is_a_failure)
{
    static const char *const arguments[] = {"--help", "--version", "--data synthetic --quiet",
                                            "--data synthetic --epochs 2"};
    struct program program;
    struct folder folder;
    folder_open(&folder);
    for (size_t i = 0; access("/dev/full", W_OK) == 0 && i < 4; i++) {
        char command[ARGUMENTS_BYTES];
        snprintf(command, sizeof command, "\"${LAUNCH%%/*}/lesson01_single\" %s > /dev/full",
                 arguments[i]);
        program_run(&program, folder.path, command);
        ck_assert_msg(program.code == 1, "%s: %d", arguments[i], program.code);
        ck_assert_msg(strstr(program.err, "cannot write to the standard output"), "%s",
                      program.err);
        program_close(&program);
    }
    folder_close(&folder);
}
END_TEST

Suite *run_suite(void)
{
    Suite *suite = suite_create("run");
    TCase *tcase = tcase_create("programs");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_gradient_is_the_mean_over_all_ranks_and_only_once, 0, LESSONS);
    tcase_add_loop_test(tcase, both_micro_batches_are_reduced_once, 0, LESSONS);
    tcase_add_loop_test(tcase, the_mean_is_clipped, 0, LESSONS);
    tcase_add_loop_test(tcase, weights_decay_and_the_bias_does_not, 0, LESSONS);
    tcase_add_loop_test(tcase, the_loss_is_the_mean_over_all_samples_of_all_ranks, 1, LESSONS);
    tcase_add_loop_test(tcase, the_loss_of_an_epoch_weighs_a_short_last_batch_by_its_samples, 0,
                        LESSONS);
    tcase_add_loop_test(tcase, the_schedule_counts_updates_whatever_the_world, 0, 3);
    tcase_add_loop_test(tcase, a_hundred_samples_on_three_ranks_are_all_used_and_nobody_hangs, 0,
                        3);
    tcase_add_loop_test(tcase, each_bucket_is_sent_once_an_update_however_many_micro_batches, 0, 3);
    tcase_add_loop_test(tcase, a_loss_that_is_not_finite_stops_every_rank_in_the_same_step, 0, 6);
    tcase_add_loop_test(tcase, an_update_that_diverges_is_not_saved_nor_called_a_success, 0,
                        LESSONS);
    tcase_add_loop_test(tcase, a_run_that_diverges_is_still_verified, 0, LESSONS);
    tcase_add_test(tcase, one_of_a_thing_is_said_in_the_singular);
    tcase_add_test(tcase, output_that_cannot_be_written_is_a_failure);
    tcase_add_loop_test(tcase, the_rank_that_failed_is_named_not_the_ones_that_lost_it, 2, 5);
    tcase_add_loop_test(tcase, a_rank_that_cannot_start_tells_the_others_why, 0, 3);
    tcase_add_test(tcase, a_device_takes_the_metrics_of_all_ranks);
    suite_add_tcase(suite, tcase);
    return suite;
}
