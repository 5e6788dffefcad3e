/*
 * What an update is made of: its micro-batches, ranks and samples, weighted right and reduced once;
 * then clipped, and made at a rate that counts updates. Seen in what the programs write.
 */
#include "lesson02_allreduce/comm_inside.h"
#include "lesson03_ddp/ddp.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENTS_BYTES = 512, WINDOWS = 4 };

/* Every lesson, and more than one world of those that have them. */
static const struct lesson lessons[] = {{1, 1}, {2, 2}, {3, 2}, {4, 2}, {2, 3}, {3, 3}, {4, 3}};
enum { LESSONS = sizeof lessons / sizeof *lessons };

static const char *metrics_of(struct lesson lesson)
{
    return lesson.number == 1 ? "m.jsonl" : "m.rank-1.jsonl";
}

/* y = w x on a.csv from w = 0, in the file's order, with what is needed to see each update. */
static void fit(const struct folder *folder, struct lesson lesson, const char *more)
{
    char arguments[ARGUMENTS_BYTES];
    snprintf(arguments, sizeof arguments,
             "--data a.csv --test-data a.csv --task regress --hidden none --no-bias --init const:0 "
             "--no-shuffle --momentum 0 --metrics m.jsonl --dump-steps 8 %s",
             more);
    lesson_ok(folder, lesson, arguments);
}

/* One number of the last line that has it, as every rank of a world has it. */
static void check_value(const struct folder *folder, struct lesson lesson, const char *key,
                        double expected)
{
    double values[8];
    size_t count = lesson_values(folder, metrics_of(lesson), key, values, 8);
    ck_assert_uint_ge(count, 1);
    ck_assert_msg(fabs(values[0] - expected) < 1e-6, "lesson %d, world %d: %s is %.9g, not %.9g",
                  lesson.number, lesson.world, key, values[0], expected);
}

/* --- one reduction for each bucket and update ------------------------------------------------ */

/* The calls and bytes of each update of an epoch; the last window is short. */
static int window_body(struct ranks_self *self)
{
    uint64_t bytes_once = 0;
    int wrong = 0;
    for (int accumulate = 1; accumulate <= WINDOWS && !wrong; accumulate++) {
        char arguments[ARGUMENTS_BYTES];
        struct inside inside;
        struct ddp ddp = {0};
        snprintf(arguments, sizeof arguments,
                 "--hidden 5,7,3 --batch 100 --accumulate %d --epochs 1 --first-bucket-kb 0.01 "
                 "--bucket-kb 0.1%s",
                 accumulate, *(bool *)self->context ? "" : " --no-overlap");
        wrong = inside_open(&inside, self, 3, arguments) ||
                inside_told(self, &inside, ddp_init(&ddp, &inside.run, self->comm));
        for (size_t i = 0; i < inside.run.sampler.steps_per_epoch && !wrong; i++) {
            struct step step = sampler_step(&inside.run.sampler, i);
            uint64_t calls = self->comm->sequence, bytes = comm_bytes_sent(self->comm);
            ddp_begin(&ddp);
            trainer_gradient(&inside.run.trainer, &step);
            wrong = ddp_wait(&ddp, &self->fail);
            calls = self->comm->sequence - calls;
            bytes = comm_bytes_sent(self->comm) - bytes;
            bytes_once = bytes_once ? bytes_once : bytes;
            if (!wrong)
                wrong =
                    ranks_expect(self, calls == ddp.plan.count && calls > 4,
                                 "%d micro-batches, step %zu: %d calls for %zu buckets", accumulate,
                                 i, (int)calls, ddp.plan.count) ||
                    ranks_expect(self, bytes == bytes_once, "%d micro-batches: %d bytes, not %d",
                                 accumulate, (int)bytes, (int)bytes_once);
        }
        ddp_stop(&ddp);
        inside_close(&inside);
    }
    return wrong ? 1 : 0;
}

START_TEST(each_bucket_is_one_call_however_many_micro_batches)
{
    bool overlap = _i / 3;
    struct ranks_result result;
    ranks_run(1 + _i % 3, window_body, &overlap, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* The gradient as it is when its tensors are announced. */
struct heard {
    struct run *run;
    float grad[512];
};

static void on_ready(void *context, size_t tensor)
{
    struct heard *heard = context;
    struct slice slice = heard->run->model.tensors[tensor].slice;
    memcpy(heard->grad + slice.begin, heard->run->grad + slice.begin, slice.count * sizeof(float));
}

/* Two micro-batches, and three with a last one that is short. */
static int final_body(struct ranks_self *self)
{
    struct inside inside;
    struct run *run = &inside.run;
    int wrong = inside_open(&inside, self, 3, self->context);
    struct heard heard = {.run = run};
    run->trainer.listener = (struct model_listener){.on_ready = on_ready, .context = &heard};
    for (size_t i = 0; i < run->sampler.steps_per_epoch && !wrong; i++) {
        struct step step = sampler_step(&run->sampler, i);
        trainer_gradient(&run->trainer, &step);
        for (size_t j = 0; j < run->model.count && !wrong; j++)
            wrong = ranks_expect(self, heard.grad[j] == run->grad[j],
                                 "step %zu, element %zu: expected it announced once it is final, "
                                 "%.9g, found it announced as %.9g",
                                 i, j, (double)run->grad[j], (double)heard.grad[j]);
    }
    inside_close(&inside);
    return wrong ? 1 : 0;
}

START_TEST(a_tensor_is_announced_when_no_micro_batch_adds_to_it_any_more)
{
    static char *const arguments[] = {"--hidden 5 --batch 100 --accumulate 2 --epochs 1",
                                      "--hidden 5 --batch 100 --accumulate 3 --epochs 1"};
    struct ranks_result result;
    ranks_run(1 + _i / 2, final_body, arguments[_i % 2], &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- weights --------------------------------------------------------------------------------- */

/* A micro-batch of three samples with loss 1 and gradient -2, and one of one sample with loss 2 and
 * gradient -4: means' means would be 1.5 and -3. */
START_TEST(a_short_micro_batch_weighs_its_samples)
{
    static const char *const windows[] = {"--batch 3 --accumulate 2", "--batch 4",
                                          "--batch 1 --accumulate 4"};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        char more[128];
        float grad = NAN, param = NAN;
        struct folder folder;
        folder_open(&folder);
        lesson_write(&folder, "a.csv", "1,1\n1,1\n1,1\n1.4142135,1.4142135\n");
        snprintf(more, sizeof more, "%s --epochs 1 --lr 0.1 --dump d", windows[i]);
        fit(&folder, lessons[_i], more);
        check_value(&folder, lessons[_i], "loss", 1.25);
        check_value(&folder, lessons[_i], "samples", 4);
        lesson_read(&folder, "d/rank-0/step-000000.safetensors", "grad.fc1.weight", &grad, 1);
        lesson_read(&folder, "d/rank-0/step-000000.safetensors", "param.fc1.weight", &param, 1);
        ck_assert_msg(fabsf(grad + 2.5f) < 1e-6f && fabsf(param - 0.25f) < 1e-6f, "%g, %g",
                      (double)grad, (double)param);
        folder_close(&folder);
    }
}
END_TEST

/* Seven samples make a window of four and one of three, whatever the micro-batches: numbers that no
 * order of additions rounds. */
START_TEST(a_short_last_window_is_an_update_of_its_samples)
{
    struct folder folder;
    double samples[4];
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,1\n2,1\n1,2\n1,3\n2,3\n1,3\n1,6\n");
    fit(&folder, lessons[_i], "--epochs 2 --lr 0.125 --batch 4 --dump whole");
    fit(&folder, lessons[_i], "--epochs 2 --lr 0.125 --batch 2 --accumulate 2 --dump twos");
    fit(&folder, lessons[_i], "--epochs 2 --lr 0.125 --batch 1 --accumulate 4 --dump ones");
    ck_assert_uint_ge(lesson_values(&folder, metrics_of(lessons[_i]), "samples", samples, 4), 4);
    ck_assert(samples[0] == 4 && samples[1] == 3 && samples[2] == 4 && samples[3] == 3);
    lesson_dumps_equal(&folder, "whole twos --tolerance 1e-6");
    lesson_dumps_equal(&folder, "whole ones --tolerance 1e-6");
    folder_close(&folder);
}
END_TEST

/* --- clipping -------------------------------------------------------------------------------- */

/* Gradients (6, 0) and (0, 8), which two ranks have one each of, in one micro-batch or two: their
 * mean has the norm 5, before clipping, and 1 after. */
START_TEST(the_norm_is_that_before_clipping)
{
    static const char *const windows[] = {"--batch 2", "--batch 1 --accumulate 2"};
    for (size_t i = 0; i < 2; i++) {
        char more[128];
        float param[2] = {0};
        struct folder folder;
        folder_open(&folder);
        lesson_write(&folder, "a.csv", "1,0,-3\n0,1,-4\n");
        snprintf(more, sizeof more, "%s --steps 1 --lr 1 --clip 1 --dump d", windows[i]);
        fit(&folder, lessons[_i], more);
        check_value(&folder, lessons[_i], "grad_norm", 5);
        lesson_read(&folder, "d/rank-0/step-000000.safetensors", "param.fc1.weight", param, 2);
        ck_assert_msg(fabsf(param[0] + 0.6f) < 1e-6f && fabsf(param[1] + 0.8f) < 1e-6f, "(%g, %g)",
                      (double)param[0], (double)param[1]);
        folder_close(&folder);
    }
}
END_TEST

/* --- the learning rate ----------------------------------------------------------------------- */

/* Scaled by the samples of a full update over 64, however they are shared out. */
static const struct {
    struct lesson lesson;
    const char *flags;
    double lr; // with --lr 0.05
} scales[] = {
    {{3, 4}, "--per-rank-batch 64 --lr-scale linear", 0.2},
    {{3, 4}, "--per-rank-batch 64 --lr-scale sqrt", 0.1},
    {{3, 4}, "--per-rank-batch 64", 0.05},
    {{3, 2}, "--per-rank-batch 64 --accumulate 2 --lr-scale linear", 0.2},
    {{4, 2}, "--batch 128 --accumulate 2 --lr-scale linear", 0.2},
    {{2, 3}, "--batch 64 --lr-scale linear", 0.05},
    {{2, 2}, "--batch 64 --accumulate 4 --lr-scale sqrt", 0.1},
    {{1, 1}, "--batch 256 --lr-scale linear", 0.2},
    {{1, 1}, "--batch 16 --lr-scale sqrt", 0.025},
};
enum { SCALES = sizeof scales / sizeof *scales, WARMUP = 4 };

START_TEST(the_rate_scales_with_an_updates_samples_and_warms_up_by_updates)
{
    struct lesson lesson = scales[_i].lesson;
    char arguments[ARGUMENTS_BYTES];
    double lr[WARMUP + 2];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments,
             "--lr 0.05 --warmup %d --steps %d --no-verify --metrics m.jsonl %s", WARMUP,
             WARMUP + 2, scales[_i].flags);
    lesson_ok(&folder, lesson, arguments);
    ck_assert_uint_eq(lesson_values(&folder, metrics_of(lesson), "lr", lr, WARMUP + 2), WARMUP + 2);
    for (int update = 0; update < WARMUP + 2; update++) {
        double expected = scales[_i].lr * (update < WARMUP ? update + 1 : WARMUP) / WARMUP;
        ck_assert_msg(fabs(lr[update] - expected) < 1e-12, "%s: update %d: %.9g, not %.9g",
                      scales[_i].flags, update, lr[update], expected);
    }
    folder_close(&folder);
}
END_TEST

Suite *accumulate_suite(void)
{
    Suite *suite = suite_create("accumulate");
    TCase *tcase = tcase_create("accumulate");
    tcase_add_loop_test(tcase, each_bucket_is_one_call_however_many_micro_batches, 0, 6);
    tcase_add_loop_test(tcase, a_tensor_is_announced_when_no_micro_batch_adds_to_it_any_more, 0, 4);
    tcase_add_loop_test(tcase, a_short_micro_batch_weighs_its_samples, 0, LESSONS);
    tcase_add_loop_test(tcase, a_short_last_window_is_an_update_of_its_samples, 0, LESSONS);
    tcase_add_loop_test(tcase, the_norm_is_that_before_clipping, 0, LESSONS);
    tcase_add_loop_test(tcase, the_rate_scales_with_an_updates_samples_and_warms_up_by_updates, 0,
                        SCALES);
    suite_add_tcase(suite, tcase);
    return suite;
}
