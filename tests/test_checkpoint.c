/* To stop and go on: the run that is resumed is the run that never stopped, and nothing else is. */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every lesson, with two ranks where it has them. */
static const struct lesson lessons[] = {{1, 1}, {2, 2}, {3, 2}, {4, 2}};
enum { LESSONS = sizeof lessons / sizeof *lessons, ARGUMENTS_BYTES = 512 };

static const char saved_at[] = "%s/checkpoint.safetensors";

static void files_must_be_equal(const struct folder *folder, const char *a, const char *b)
{
    char left[64], right[64], command[256];
    struct program program;
    snprintf(left, sizeof left, saved_at, a);
    snprintf(right, sizeof right, saved_at, b);
    snprintf(command, sizeof command, "cmp %s %s", left, right);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    program_close(&program);
}

/* Constant gradient 1: x is so small that w x is lost in the target's rounding. */
START_TEST(resuming_keeps_momentum_and_rate)
{
    static const double w[4] = {-0.1, -0.29, -0.561, -0.9049};
    char arguments[ARGUMENTS_BYTES], row[] = "0.00006103515625,-8192\n", path[64];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", row);
    for (int update = 1; update <= 4; update++) {
        float value;
        snprintf(arguments, sizeof arguments,
                 "--data a.csv --test-data a.csv --task regress --hidden none --no-bias --init "
                 "const:0 --batch 1 --lr 0.1 --momentum 0.9 --no-verify --steps %d --save s %s",
                 update, update == 3 ? "--resume s" : "");
        lesson_ok(&folder, lessons[_i], arguments);
        snprintf(path, sizeof path, saved_at, "s");
        lesson_read(&folder, path, "param.fc1.weight", &value, 1);
        ck_assert_msg(fabs((double)value - w[update - 1]) < 1e-6, "update %d: %.9g", update,
                      (double)value);
    }
    folder_close(&folder);
}
END_TEST

/* 23 updates are an epoch: both stops lie within the first, the end in the second. */
START_TEST(a_run_resumed_twice_within_an_epoch_is_the_run_that_never_stopped)
{
    static const char *const rules[] = {"--optimizer adam --clip 1", "--weight-decay 0.01",
                                        "--optimizer adamw --accumulate 2",
                                        "--optimizer adam --warmup 7 --weight-decay 0.01"};
    static const int worlds[] = {1, 3, 2, 4};
    static const char *const legs[] = {"--steps 30 --save a", "--steps 5 --save b",
                                       "--steps 12 --save b --resume b",
                                       "--steps 30 --save b --resume b"};
    struct folder folder;
    folder_open(&folder);
    for (size_t leg = 0; leg < 4; leg++) {
        char arguments[ARGUMENTS_BYTES];
        snprintf(arguments, sizeof arguments, "--hidden 9 --verify 1 %s %s", rules[_i], legs[leg]);
        lesson_ok(&folder, (struct lesson){1 + _i, worlds[_i]}, arguments);
    }
    files_must_be_equal(&folder, "a", "b");
    folder_close(&folder);
}
END_TEST

enum { WEIGHTS = 9 * 64 };

/* Within 1e-5 of the tensor's largest value: other worlds add in another order. */
static void tensors_must_be_near(const struct folder *folder, const char *a, const char *b,
                                 const char *tensor)
{
    char path[64];
    float left[WEIGHTS], right[WEIGHTS], largest = 0;
    snprintf(path, sizeof path, saved_at, a);
    lesson_read(folder, path, tensor, left, WEIGHTS);
    snprintf(path, sizeof path, saved_at, b);
    lesson_read(folder, path, tensor, right, WEIGHTS);
    for (size_t i = 0; i < WEIGHTS; i++)
        largest = fmaxf(largest, fabsf(left[i]));
    for (size_t i = 0; i < WEIGHTS; i++)
        ck_assert_msg(fabsf(left[i] - right[i]) <= 1e-5f * largest, "%s: %s[%zu] is %.9g, not %.9g",
                      b, tensor, i, (double)right[i], (double)left[i]);
}

START_TEST(what_four_shards_saved_goes_on_in_any_lesson_and_world)
{
    static const struct lesson resumers[] = {{1, 1}, {2, 3}, {3, 2}, {4, 3}};
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 9 --no-verify --steps 10 --save whole");
    lesson_ok(&folder, (struct lesson){4, 4}, "--hidden 9 --no-verify --steps 6 --save four");
    lesson_ok(&folder, resumers[_i], "--hidden 9 --verify 2 --steps 10 --resume four --save other");
    tensors_must_be_near(&folder, "whole", "other", "param.fc1.weight");
    tensors_must_be_near(&folder, "whole", "other", "momentum.fc1.weight");
    folder_close(&folder);
}
END_TEST

START_TEST(a_checkpoint_of_another_run_is_refused_before_training)
{
    static const struct {
        const char *arguments, *words;
    } rows[] = {
        {"--hidden 9 --steps 4 --resume s --seed 2", "seed"},
        {"--hidden 8 --steps 4 --resume s", "fc1.weight"},
        {"--hidden 9,9 --steps 4 --resume s", "fc2.weight"},
        {"--hidden 9 --no-bias --steps 4 --resume s", "fc1.bias, which this model does not have"},
        {"--hidden 9 --no-bias --steps 4 --init s/checkpoint.safetensors", "fc1.bias, which this"},
        {"--hidden 9 --data thin.csv --steps 4 --resume deep", "fc3.weight, which this model"},
        {"--hidden 9 --steps 4 --resume s --optimizer adam", "optimizer"},
        {"--hidden 9 --steps 4 --resume s --momentum 0", "momentum"},
        {"--hidden 9 --steps 4 --resume s --batch 32", "batch"},
        {"--hidden 9 --steps 4 --resume cut", "cut/checkpoint.safetensors"},
        {"--hidden 9 --steps 4 --resume dump", "not a checkpoint"},
        {"--hidden 9 --steps 4 --resume nowhere", "nowhere/checkpoint.safetensors"},
        {"--hidden 9 --steps 2 --resume s", "2 updates were made already"},
    };
    struct program program;
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 9 --steps 2 --save s --dump d");
    lesson_write(&folder, "thin.csv", "1,0\n2,8\n3,4\n4,5\n5,6\n6,7\n");
    lesson_ok(&folder, (struct lesson){1, 1}, "--data thin.csv --hidden 9,9 --steps 2 --save deep");
    program_run(&program, folder.path,
                "mkdir cut dump && head -c 3000 s/checkpoint.safetensors > "
                "cut/checkpoint.safetensors && cp d/rank-0/step-000000.safetensors "
                "dump/checkpoint.safetensors");
    ck_assert_int_eq(program.code, 0);
    program_close(&program);
    for (size_t i = (size_t)_i; i < sizeof rows / sizeof *rows; i += 2) {
        struct lesson lesson = {1 + (int)i % 4, i % 4 ? 2 : 1};
        lesson_run(&program, &folder, lesson, rows[i].arguments);
        ck_assert_msg(program.code == 1 || program.code == 2, "%s: %d", rows[i].arguments,
                      program.code);
        ck_assert_msg(strstr(program.err, rows[i].words), "%s: %s", rows[i].arguments, program.err);
        ck_assert_msg(!strstr(program.out, "epoch 1/"), "%s: %s", rows[i].arguments, program.out);
        program_close(&program);
    }
    folder_close(&folder);
}
END_TEST

/* A file where the directory should be, and a place where nobody, root included, makes files. */
START_TEST(a_place_that_cannot_be_saved_to_is_refused_before_training)
{
    static const char *const places[] = {"a.csv", "/proc", "no/such"};
    char arguments[ARGUMENTS_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,0\n");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(arguments, sizeof arguments, "--data synthetic --epochs 1 --save %s", places[i]);
        lesson_run(&program, &folder, lessons[_i], arguments);
        ck_assert_msg(program.code == 1 && strstr(program.err, "--save: cannot"), "%s: %d, %s",
                      places[i], program.code, program.err);
        ck_assert_msg(!strstr(program.out, "lesson"), "%s: %s", places[i], program.out);
        program_close(&program);
    }
    folder_close(&folder);
}
END_TEST

Suite *checkpoint_suite(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tcase = tcase_create("checkpoint");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, resuming_keeps_momentum_and_rate, 0, LESSONS);
    tcase_add_loop_test(tcase, a_run_resumed_twice_within_an_epoch_is_the_run_that_never_stopped, 0,
                        LESSONS);
    tcase_add_loop_test(tcase, what_four_shards_saved_goes_on_in_any_lesson_and_world, 0, 4);
    tcase_add_loop_test(tcase, a_checkpoint_of_another_run_is_refused_before_training, 0, 2);
    tcase_add_loop_test(tcase, a_place_that_cannot_be_saved_to_is_refused_before_training, 0,
                        LESSONS);
    suite_add_tcase(suite, tcase);
    return suite;
}
