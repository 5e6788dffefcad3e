/* To stop and go on: the run that is resumed is the run that never stopped, and nothing else is. */
#include "lesson01_single/checkpoint_inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every lesson, with two ranks where it has them. */
static const struct lesson lessons[] = {{1, 1}, {2, 2}, {3, 2}, {4, 2}};
enum { LESSONS = sizeof lessons / sizeof *lessons, ARGUMENTS_BYTES = 512 };

/* Constant gradient 1: x is so small that w x is lost in the target's rounding. */
START_TEST(resuming_keeps_momentum_and_rate)
{
    static const double w[4] = {-0.1, -0.29, -0.561, -0.9049};
    char arguments[ARGUMENTS_BYTES], row[] = "0.00006103515625,-8192\n";
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
        lesson_consolidate(&folder, "s");
        lesson_read(&folder, "s.safetensors", "param.fc1.weight", &value, 1);
        ck_assert_msg(fabs((double)value - w[update - 1]) < 1e-6, "update %d: %.9g", update,
                      (double)value);
    }
    folder_close(&folder);
}
END_TEST

/* 23 updates are an epoch: both stops lie within the first, the end in the second. */
START_TEST(a_run_resumed_twice_within_an_epoch_is_the_run_that_never_stopped)
{
    static const char *const rules[] = {"--optimizer adam --clip 1",
                                        "--weight-decay 0.01",
                                        "--optimizer adamw --accumulate 2",
                                        "--optimizer adam --warmup 7 --weight-decay 0.01",
                                        "--optimizer adamw --clip 1 --stage 2",
                                        "--optimizer adam --accumulate 2 --stage 3",
                                        "--stage 3 --persist-kb 0 --offload ."};
    static const int worlds[] = {1, 3, 2, 4, 3, 4, 2};
    static const char *const legs[] = {"--steps 30 --save a", "--steps 5 --save b",
                                       "--steps 12 --save b --resume b",
                                       "--steps 30 --save b --resume b"};
    struct folder folder;
    folder_open(&folder);
    for (size_t leg = 0; leg < 4; leg++) {
        char arguments[ARGUMENTS_BYTES];
        snprintf(arguments, sizeof arguments, "--hidden 9 --verify 1 %s %s", rules[_i], legs[leg]);
        lesson_ok(&folder, (struct lesson){_i < 3 ? 1 + _i : 4, worlds[_i]}, arguments);
    }
    lesson_saves_equal(&folder, "a", "b", rules[_i]);
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
    snprintf(path, sizeof path, "%s.safetensors", a);
    lesson_read(folder, path, tensor, left, WEIGHTS);
    snprintf(path, sizeof path, "%s.safetensors", b);
    lesson_read(folder, path, tensor, right, WEIGHTS);
    for (size_t i = 0; i < WEIGHTS; i++)
        largest = fmaxf(largest, fabsf(left[i]));
    for (size_t i = 0; i < WEIGHTS; i++)
        ck_assert_msg(fabsf(left[i] - right[i]) <= 1e-5f * largest, "%s: %s[%zu] is %.9g, not %.9g",
                      b, tensor, i, (double)right[i], (double)left[i]);
}

/* Who goes on from what: four shards of each stage, in every lesson and world; and back again. */
static const struct move {
    struct lesson saver, resumer;
    const char *saving, *resuming; // of lesson 4: the stage
} moves[] = {
    {{4, 4}, {1, 1}, "--stage 3", ""},
    {{4, 4}, {2, 2}, "", ""},
    {{4, 4}, {2, 3}, "--stage 2", ""},
    {{4, 4}, {3, 2}, "--stage 3", ""},
    {{4, 4}, {3, 5}, "", ""},
    {{4, 4}, {4, 1}, "", "--stage 3"},
    {{4, 4}, {4, 2}, "--stage 2", ""},
    {{4, 4}, {4, 3}, "--stage 3", "--stage 1"},
    {{4, 4}, {4, 5}, "", "--stage 3 --persist-kb 0"},
    {{4, 4}, {4, 5}, "--stage 3 --persist-kb 0", "--stage 2"},
    {{1, 1}, {4, 4}, "", "--stage 3"},
    {{2, 3}, {4, 2}, "", "--stage 2"},
    {{3, 2}, {4, 3}, "", "--stage 3 --persist-kb 0"},
    {{3, 5}, {1, 1}, "", ""},
};
static const struct {
    const char *flags, *states[2];
} optimizers[] = {{"", {"momentum", NULL}}, {"--optimizer adam --lr 0.001", {"adam_m", "adam_v"}}};
enum { MOVES = sizeof moves / sizeof *moves };

/* Each step after the load is verified, which holds it within the bounds that lesson derives; and four updates
 * later the run is where the one that never stopped is. */
START_TEST(what_any_lesson_and_world_saved_any_other_goes_on_with)
{
    const struct move *move = &moves[_i / 2];
    char arguments[ARGUMENTS_BYTES], name[32];
    const char *flags = optimizers[_i % 2].flags;
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--hidden 9 --no-verify %s --steps 10 --save whole",
             flags);
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    snprintf(arguments, sizeof arguments, "--hidden 9 --no-verify %s --steps 6 --save part %s",
             flags, move->saving);
    lesson_ok(&folder, move->saver, arguments);
    snprintf(arguments, sizeof arguments,
             "--hidden 9 --verify 4 %s --steps 10 --resume part --save other %s", flags,
             move->resuming);
    ck_assert_uint_ge(lesson_ok(&folder, move->resumer, arguments), 4);
    lesson_consolidate(&folder, "whole");
    lesson_consolidate(&folder, "other");
    tensors_must_be_near(&folder, "whole", "other", "param.fc1.weight");
    for (size_t i = 0; i < 2 && optimizers[_i % 2].states[i]; i++) {
        snprintf(name, sizeof name, "%s.fc1.weight", optimizers[_i % 2].states[i]);
        tensors_must_be_near(&folder, "whole", "other", name);
    }
    folder_close(&folder);
}
END_TEST

/* Frozen tensors are in no shard; they are saved once all the same. */
START_TEST(frozen_tensors_are_saved_once)
{
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--hidden 9 --freeze fc1 --steps 2 --save s --stage %d",
             _i);
    lesson_ok(&folder, (struct lesson){4, 3}, arguments);
    program_run(&program, folder.path,
                "cd s/update-00000002; grep -c param.fc1.weight *.safetensors; grep -l "
                "momentum.fc1.weight *.safetensors");
    ck_assert_str_eq(program.out, "rank-0.safetensors:1\nrank-1.safetensors:0\nrank-2.safetensors:"
                                  "0\n");
    program_close(&program);
    snprintf(arguments, sizeof arguments, "--hidden 9 --freeze fc1 --steps 4 --resume s --stage %d",
             4 - _i);
    lesson_ok(&folder, (struct lesson){4, 2}, arguments);
    folder_close(&folder);
}
END_TEST

START_TEST(one_update_of_those_kept_can_be_gone_back_to)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, lessons[_i], "--hidden 9 --steps 8 --save s --save-every 2 --keep 3");
    program_run(&program, folder.path, "ls s");
    ck_assert_str_eq(program.out, "update-00000004\nupdate-00000006\nupdate-00000008\n");
    program_close(&program);
    lesson_run(&program, &folder, lessons[_i],
               "--hidden 9 --steps 8 --resume s/update-00000004 --save t");
    ck_assert_msg(program.code == 0 && strstr(program.out, "going on from s/update-00000004"),
                  "%s%s", program.out, program.err);
    program_close(&program);
    lesson_saves_equal(&folder, "s", "t", "gone back");
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
        {"--hidden 9 --no-bias --steps 4 --init s.safetensors", "fc1.bias, which this"},
        {"--hidden 9 --data thin.csv --steps 4 --resume deep", "fc3.weight, which this model"},
        {"--hidden 9 --steps 4 --resume s --optimizer adam", "optimizer"},
        {"--hidden 9 --steps 4 --resume s --momentum 0", "momentum"},
        {"--hidden 9 --steps 4 --resume s --batch 32", "batch"},
        {"--hidden 9 --steps 4 --resume cut", "cut/update-00000002/rank-0.safetensors is damaged"},
        {"--hidden 9 --steps 4 --resume half",
         "cannot open half/update-00000002/rank-0.safetensors"},
        {"--hidden 9 --steps 4 --resume other", "other/manifest.json: format is"},
        {"--hidden 9 --steps 4 --resume nowhere", "no checkpoint in nowhere"},
        {"--hidden 9 --steps 2 --resume s", "2 updates were made already"},
    };
    struct program program;
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 9 --steps 2 --save s");
    lesson_consolidate(&folder, "s");
    lesson_write(&folder, "thin.csv", "1,0\n2,8\n3,4\n4,5\n5,6\n6,7\n");
    lesson_ok(&folder, (struct lesson){1, 1}, "--data thin.csv --hidden 9,9 --steps 2 --save deep");
    program_run(&program, folder.path,
                "cp -r s cut && cp -r s half && mkdir other && head -c 3000 "
                "s/update-00000002/rank-0.safetensors > cut/update-00000002/rank-0.safetensors && "
                "rm half/update-00000002/rank-0.safetensors && echo '{}' > other/manifest.json");
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

/* What its checksum does not tell: who wrote it was wrong. 10 samples, 4 in an update: update 4 of a run is
 * the second of epoch 1. */
START_TEST(counts_that_no_run_can_have_are_refused)
{
    static const struct {
        struct inventory said;
        const char *words; // NULL: all is well
    } rows[] = {
        {{.updates = 4, .epoch = 1, .position = 4, .skipped = 4}, NULL},
        {{.updates = 4, .epoch = 1, .position = 4, .skipped = 5}, "skipped is 5"},
        {{.updates = 4, .epoch = 0, .position = 4}, "after 4 updates that is sample 4 of epoch 1"},
        {{.updates = 4, .epoch = 1, .position = 8}, "it stands at sample 8"},
        {{.updates = 4, .epoch = 1, .position = 4, .loss_scale = 3}, "no power of two"},
        {{.updates = 4, .epoch = 1, .position = 4, .loss_scale = 1 << 25}, "no power of two"},
        {{.updates = 4, .epoch = 1, .position = 4, .good_updates = 200}, "it can be 199"},
        {{.updates = 4, .epoch = 1, .position = 4, .loss_scale = 8, .good_updates = 3}, NULL},
    };
    struct sampler sampler = {.count = 10, .batch = 4, .accumulate = 1, .steps_per_epoch = 3};
    struct optimizer optimizer = {0};
    struct loss_scale scale = {.dynamic = true, .value = 2};
    struct checkpoint checkpoint = {.sampler = &sampler, .optimizer = &optimizer, .scale = &scale};
    struct fail fail = {0};
    int error = checkpoint_counts_read(&checkpoint, &rows[_i].said, &fail);
    ck_assert_int_eq(error, rows[_i].words ? -EINVAL : 0);
    ck_assert_msg(!rows[_i].words || strstr(fail.text, rows[_i].words), "%s", fail.text);
    if (error)
        return;
    ck_assert_uint_eq(optimizer.updates, 4);
    ck_assert_uint_eq(optimizer.skipped, rows[_i].said.skipped);
    ck_assert(scale.value == (rows[_i].said.loss_scale ? 8 : 2));
    ck_assert_uint_eq(scale.good, rows[_i].said.good_updates);
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
                        7);
    watched_add_rows(tcase, what_any_lesson_and_world_saved_any_other_goes_on_with, 2 * MOVES);
    tcase_add_loop_test(tcase, frozen_tensors_are_saved_once, 1, 4);
    tcase_add_loop_test(tcase, one_update_of_those_kept_can_be_gone_back_to, 0, LESSONS);
    tcase_add_loop_test(tcase, a_checkpoint_of_another_run_is_refused_before_training, 0, 2);
    tcase_add_loop_test(tcase, counts_that_no_run_can_have_are_refused, 0, 8);
    tcase_add_loop_test(tcase, a_place_that_cannot_be_saved_to_is_refused_before_training, 0,
                        LESSONS);
    suite_add_tcase(suite, tcase);
    return suite;
}
