/* What is stored is of the type, a scale changes no digit, and all ranks skip the same updates. */
#include "lesson01_single/precision.h"
#include "lesson01_single/loss_scale.h"
#include "common/half.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_MOST = 4096, WORLDS = 4 };

static struct run *open_run(struct inside *inside, const char *arguments)
{
    static struct ranks_self self;
    self = (struct ranks_self){.world = 1, .environment = {.world = 1, .local_world = 1}};
    ck_assert_msg(inside_open(inside, &self, 1, arguments) == 0, "%s", self.fail.text);
    return &inside->run;
}

/* The gradient of step 0. One that had become infinite on its way down would be seen in it. */
static void gradient(const char *arguments, float *grad, struct precision *counted)
{
    struct inside inside;
    struct run *run = open_run(&inside, arguments);
    struct step step = sampler_step(&run->sampler, 0);
    trainer_gradient(&run->trainer, &step);
    for (size_t i = 0; i < run->model.count; i++)
        ck_assert_msg(isfinite(run->grad[i]), "%s: element %zu", arguments, i);
    memcpy(grad, run->grad, run->model.count * sizeof *grad);
    *counted = run->trainer.precision;
    inside_close(&inside);
}

static bool of_type(enum precision_kind kind, const float *x, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        float value = kind == PRECISION_BF16 ? half_bf16_value(half_bf16_of(x[i]))
                                             : half_fp16_value(half_fp16_of(x[i]));
        all = all && memcmp(&value, &x[i], sizeof value) == 0;
    }
    return all;
}

START_TEST(weights_activations_and_their_gradients_are_of_the_type)
{
    static const char *const given[] = {"--precision bf16 --hidden 9,7 --batch 20",
                                        "--precision fp16 --hidden 9,7 --batch 20 --dropout 0.3"};
    struct inside inside;
    struct run *run = open_run(&inside, given[_i]);
    struct step step = sampler_step(&run->sampler, 0);
    const struct activations *activations = &run->trainer.activations;
    trainer_gradient(&run->trainer, &step);
    ck_assert(
        of_type(run->options.precision, trainer_load_weights(&run->trainer), run->model.count));
    ck_assert(!of_type(run->options.precision, run->param, run->model.count));
    for (size_t layer = 0; layer <= run->model.layers; layer++) // the last holds dy by now
        ck_assert_msg(of_type(run->options.precision, activations->a[layer],
                              step.samples.count * run->model.widths[layer]),
                      "layer %zu", layer);
    inside_close(&inside);
}
END_TEST

/* bf16 has float's range: nothing is too small for it, scaled or not. */
START_TEST(a_power_of_two_changes_no_digit_of_a_gradient)
{
    static const char *const scales[] = {"2", "1024", "65536", "16777216"};
    float plain[COUNT_MOST] = {0}, scaled[COUNT_MOST] = {0};
    char arguments[128];
    struct precision counted;
    snprintf(arguments, sizeof arguments,
             "--precision bf16 --hidden 13 --batch 50 --accumulate 3 --loss-scale %s", scales[_i]);
    gradient("--precision bf16 --hidden 13 --batch 50 --accumulate 3", plain, &counted);
    gradient(arguments, scaled, &counted);
    ck_assert(memcmp(plain, scaled, sizeof plain) == 0);
}
END_TEST

/* A sample's weight in a large batch, times a small gradient, is below 6e-8. */
START_TEST(fp16_loses_small_gradients_unless_they_are_scaled)
{
    float grad[COUNT_MOST] = {0};
    struct precision none, scaled, bf16;
    gradient("--precision fp16 --hidden 13 --batch 1437 --loss-scale none", grad, &none);
    gradient("--precision fp16 --hidden 13 --batch 1437 --loss-scale 65536", grad, &scaled);
    gradient("--precision bf16 --hidden 13 --batch 1437", grad, &bf16);
    ck_assert_uint_gt(none.flushed, 0);
    ck_assert_uint_lt(none.flushed, none.nonzero);
    ck_assert_uint_lt(scaled.flushed * 100, none.flushed);
    ck_assert_uint_eq(bf16.flushed, 0);
}
END_TEST

/* A layer that is left out passes its gradient on as it comes: it is rounded, and counted, by the next
 * that takes part. In step 0 these coins leave out both layers that may be. */
START_TEST(a_gradient_that_passes_a_layer_left_out_is_rounded_once)
{
    enum { BATCH = 50, HIDDEN = 13, OUTPUTS = 10 };
    float grad[COUNT_MOST] = {0};
    struct precision counted;
    gradient("--precision bf16 --hidden 13,13,13 --batch 50 --layer-drop 0.99 --dropout 0.3", grad,
             &counted);
    ck_assert_uint_gt(counted.nonzero, 0);
    ck_assert_uint_le(counted.nonzero, (OUTPUTS + HIDDEN) * BATCH);
}
END_TEST

START_TEST(a_dynamic_scale_doubles_in_good_times_and_halves_in_bad)
{
    struct options options = {.loss_scale = 0};
    struct loss_scale scale = loss_scale_first(&options);
    ck_assert(scale.value == 65536);
    for (int i = 0; i < LOSS_SCALE_INTERVAL - 1; i++)
        loss_scale_keep(&scale);
    ck_assert(scale.value == 65536);
    loss_scale_keep(&scale);
    ck_assert(scale.value == 131072);
    loss_scale_keep(&scale);
    loss_scale_back_off(&scale);
    ck_assert(scale.value == 65536 && scale.good == 0);
    for (int i = 0; i < 100 * LOSS_SCALE_INTERVAL; i++)
        loss_scale_keep(&scale);
    ck_assert(scale.value == LOSS_SCALE_MOST);
    while (loss_scale_can_shrink(&scale))
        loss_scale_back_off(&scale);
    ck_assert(scale.value == 1);
}
END_TEST

START_TEST(a_fixed_scale_stays)
{
    struct options options = {.loss_scale = 4096};
    struct loss_scale scale = loss_scale_first(&options);
    for (int i = 0; i < 2 * LOSS_SCALE_INTERVAL; i++)
        loss_scale_keep(&scale);
    ck_assert(scale.value == 4096 && !loss_scale_can_shrink(&scale));
}
END_TEST

/* --- whole runs ------------------------------------------------------------------------------ */

/* Two features and a target; of sample 1 the target is another's. */
static void write_line(const struct folder *folder, const char *target)
{
    char text[512] = "";
    for (int row = 0; row < 10; row++) {
        char line[64];
        snprintf(line, sizeof line, "0.%d,0.%d,%s\n", row, 9 - row, row == 1 ? target : "2");
        lesson_row(text, sizeof text, line);
    }
    lesson_write(folder, "line.csv", text);
}

static const char set[] = "--data line.csv --hidden 5 --batch 8 --no-shuffle --precision fp16 --lr "
                          "0.001 --optimizer adam ";

/* 2 (1000 - y) / 8 times 65536 is too much for fp16; it halves until it is not. Only one rank has the
 * sample. */
START_TEST(all_ranks_skip_an_update_that_overflows_on_one)
{
    char arguments[512];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    write_line(&folder, "1000");
    for (int number = 1; number <= 4; number++) {
        struct lesson lesson = {number, number == 1 ? 1 : 1 + _i};
        snprintf(arguments, sizeof arguments, "%s --steps 14 --save %d", set, number);
        lesson_run(&program, &folder, lesson, arguments);
        ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
        ck_assert_msg(strstr(program.out,
                             "step 0: the gradient of rank 0 overflowed at loss scale 65536: no "
                             "update; 32768 from here on"),
                      "%s", program.out);
        ck_assert(strstr(program.out, "all hold") && !strstr(program.out, "verify step 0:"));
        program_close(&program);
    }
    lesson_saves_equal(&folder, "3", "4", "two lessons");
    folder_close(&folder);
}
END_TEST

/* The gradient of one hidden unit overflows, that of the others and of the output does not: of lesson 4's
 * shards one alone shows it. */
START_TEST(all_ranks_skip_an_update_that_overflows_in_one_shard)
{
    char arguments[512];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    write_line(&folder, "3.31");
    for (int number = 3; number <= 4; number++) {
        snprintf(arguments, sizeof arguments,
                 "%s --task regress --hidden 3 --seed 2 --steps 5 --save %d", set, number);
        lesson_run(&program, &folder, (struct lesson){number, 2 + _i}, arguments);
        ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
        ck_assert_ptr_nonnull(strstr(program.out, "step 0: the gradient of rank "));
        program_close(&program);
    }
    lesson_saves_equal(&folder, "3", "4", "two lessons");
    folder_close(&folder);
}
END_TEST

START_TEST(a_skipped_update_changes_no_parameter_and_no_state)
{
    enum { PARAMETERS = 10 };
    float before[PARAMETERS], after[PARAMETERS], moment[PARAMETERS];
    char arguments[512];
    struct folder folder;
    folder_open(&folder);
    write_line(&folder, "1000");
    snprintf(arguments, sizeof arguments, "%s --steps 2 --dump d --dump-steps 2 --save s", set);
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    lesson_read(&folder, "d/rank-0/step-000000.safetensors", "param.fc1.weight", before,
                PARAMETERS);
    lesson_read(&folder, "d/rank-0/step-000001.safetensors", "param.fc1.weight", after, PARAMETERS);
    lesson_read(&folder, "d/rank-0/step-000000.safetensors", "adam_m.fc1.weight", moment,
                PARAMETERS);
    ck_assert(memcmp(before, after, sizeof before) == 0);
    for (size_t i = 0; i < PARAMETERS; i++)
        ck_assert(moment[i] == 0);
    folder_close(&folder);
}
END_TEST

/* No scale is small enough for it. */
START_TEST(a_gradient_that_overflows_at_any_scale_stops_the_run)
{
    char arguments[512];
    struct folder folder;
    folder_open(&folder);
    write_line(&folder, "1e30");
    snprintf(arguments, sizeof arguments, "%s --steps 40", set);
    lesson_fails(&folder, (struct lesson){1 + _i, _i ? 3 : 1}, arguments, 1,
                 "the gradient of rank 0 overflowed at loss scale 1: no update was made");
    snprintf(arguments, sizeof arguments, "%s --steps 40 --loss-scale 65536", set);
    lesson_fails(&folder, (struct lesson){1 + _i, _i ? 3 : 1}, arguments, 1,
                 "step 0: the gradient of rank 0 overflowed at loss scale 65536");
    folder_close(&folder);
}
END_TEST

/* A target that makes a gradient no float holds, of a loss that a double does; and one that makes it of
 * all ranks together only. The step itself tells, and names the rank that has it. */
START_TEST(a_gradient_of_16_bits_that_is_not_finite_is_told_where_it_is)
{
    static const char ones[] = "1,1,1\n", huge[] = "9,9,3e38\n", large[] = "0.1,0.1,1.8e38\n";
    static const struct {
        struct lesson lesson;
        const char *first, *last; // samples: the first half, the others
        const char *arguments, *words;
    } rows[] = {
        {{3, 2}, ones, huge, "--compress bf16", "the gradient of rank 1 overflowed: no update"},
        {{4, 3}, huge, ones, "--compress bf16", "the gradient of rank 0 overflowed: "},
        {{3, 2}, large, large, "--compress bf16", "the sum of all ranks' gradients overflowed: "},
        {{3, 3}, huge, ones, "--precision bf16", "the gradient of rank 0 overflowed: "},
        {{2, 2}, ones, huge, "--precision fp16 --loss-scale none", "the gradient of rank 1 over"},
    };
    char text[256] = "", arguments[256], words[128];
    struct folder folder;
    folder_open(&folder);
    for (int row = 0; row < 8; row++)
        lesson_row(text, sizeof text, row < 4 ? rows[_i].first : rows[_i].last);
    lesson_write(&folder, "line.csv", text);
    snprintf(arguments, sizeof arguments,
             "--data line.csv --hidden 4 --init const:1 --no-shuffle --batch 7 --steps 3 --lr "
             "1e-30 --no-verify %s",
             rows[_i].arguments);
    snprintf(words, sizeof words, "step 0: %s", rows[_i].words);
    lesson_fails(&folder, rows[_i].lesson, arguments, 1, words);
    folder_close(&folder);
}
END_TEST

START_TEST(a_resumed_run_goes_on_with_its_scale_bit_for_bit)
{
    char arguments[512];
    struct folder folder;
    struct lesson lesson = {1 + _i, _i ? 2 : 1};
    folder_open(&folder);
    write_line(&folder, "1000");
    snprintf(arguments, sizeof arguments, "%s --steps 20 --save whole", set);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 5 --save half", set);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 20 --save half --resume half", set);
    lesson_ok(&folder, lesson, arguments);
    lesson_saves_equal(&folder, "whole", "half", "resumed");
    folder_close(&folder);
}
END_TEST

Suite *precision_suite(void)
{
    Suite *suite = suite_create("precision");
    TCase *tcase = tcase_create("precision");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, weights_activations_and_their_gradients_are_of_the_type, 0, 2);
    tcase_add_loop_test(tcase, a_power_of_two_changes_no_digit_of_a_gradient, 0, 4);
    tcase_add_test(tcase, fp16_loses_small_gradients_unless_they_are_scaled);
    tcase_add_test(tcase, a_gradient_that_passes_a_layer_left_out_is_rounded_once);
    tcase_add_test(tcase, a_dynamic_scale_doubles_in_good_times_and_halves_in_bad);
    tcase_add_test(tcase, a_fixed_scale_stays);
    tcase_add_loop_test(tcase, all_ranks_skip_an_update_that_overflows_on_one, 0, WORLDS);
    tcase_add_loop_test(tcase, all_ranks_skip_an_update_that_overflows_in_one_shard, 0, 3);
    tcase_add_test(tcase, a_skipped_update_changes_no_parameter_and_no_state);
    tcase_add_loop_test(tcase, a_gradient_that_overflows_at_any_scale_stops_the_run, 0, 4);
    tcase_add_loop_test(tcase, a_gradient_of_16_bits_that_is_not_finite_is_told_where_it_is, 0, 5);
    tcase_add_loop_test(tcase, a_resumed_run_goes_on_with_its_scale_bit_for_bit, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
