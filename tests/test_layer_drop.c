/* Layers left out: by a coin of each rank and update; their tensors get no gradient there, which stops
 * the run, or counts as 0, and never as what it was a step before. */
#include "lesson01_single/layer_drop.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/tie.h"
#include "lesson03_ddp/ddp.h"
#include "tests/heard.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Layers 1, 2 and 4 may be left out: 0 has other widths, 3 too, 5 is the last. */
enum { LAYERS = 6 };
static const size_t widths[LAYERS + 1] = {8, 4, 4, 4, 6, 6, 6};
static const uint32_t may = 1 << 1 | 1 << 2 | 1 << 4;

static void plan(struct model *model)
{
    model_plan(model, widths, LAYERS, true);
}

START_TEST(only_hidden_layers_of_equal_widths_may_be_left_out)
{
    static const struct layer_drop always = {.rate = 1, .seed = 1};
    struct model model;
    plan(&model);
    for (size_t layer = 0; layer < LAYERS; layer++)
        ck_assert(layer_drop_may(&model, layer) == (may >> layer & 1));
    ck_assert_uint_eq(layer_drop_skipped(&always, &model, 3, 2), may);
    static const size_t none[3] = {4, 3, 3};
    model_plan(&model, none, 2, true);
    ck_assert(!layer_drop_may_any(&model)); // the last layer is no hidden one
}
END_TEST

/* The coins of 64 updates, of one layer. */
static uint64_t coins_of(uint64_t seed, size_t rank, size_t layer)
{
    struct layer_drop half = {.rate = 0.5, .seed = seed};
    struct model model;
    uint64_t coins = 0;
    plan(&model);
    for (size_t step = 0; step < 64; step++)
        coins = coins << 1 | (layer_drop_skipped(&half, &model, step, rank) >> layer & 1);
    return coins;
}

START_TEST(coins_repeat_and_differ_by_seed_rank_update_and_layer)
{
    uint64_t coins = coins_of(1, 0, 1);
    ck_assert(coins == coins_of(1, 0, 1));
    ck_assert(coins != coins_of(2, 0, 1));
    ck_assert(coins != coins_of(1, 1, 1));
    ck_assert(coins != coins_of(1, 0, 2));
    ck_assert(coins != 0 && coins != UINT64_MAX);
    /* Nor are they a layer's or a rank's coins of some updates later. */
    for (size_t later = 1; later < 32; later++) {
        ck_assert(coins_of(1, 0, 2) >> later != (coins << later >> later));
        ck_assert(coins >> later != (coins_of(1, 0, 2) << later >> later));
        ck_assert(coins >> later != (coins_of(1, 1, 1) << later >> later));
        ck_assert(coins_of(1, 1, 1) >> later != (coins << later >> later));
    }
}
END_TEST

START_TEST(as_many_are_left_out_as_asked)
{
    static const struct layer_drop drop = {.rate = 0.2, .seed = 9};
    enum { UPDATES = 4000 };
    struct model model;
    size_t left_out = 0;
    plan(&model);
    for (size_t step = 0; step < UPDATES; step++)
        left_out += layer_drop_skipped(&drop, &model, step, 0) >> 1 & 1;
    ck_assert(fabs((double)left_out / UPDATES - 0.2) < 5 * sqrt(0.2 * 0.8 / UPDATES));
}
END_TEST

/* Forward and backward of two samples; the gradient of outputs that are 1. */
static void pass_of(const struct model *model, const float *param, uint32_t skipped, float *grad,
                    struct heard *heard)
{
    struct activations activations;
    struct memory memory = {0};
    struct pass pass = {.rows = 2, .skipped = skipped};
    struct model_listener listener = heard_listener(heard);
    ck_assert_int_eq(activations_init(&activations, model, 2, &memory), 0);
    for (size_t i = 0; i < 2 * model->widths[0]; i++)
        activations.a[0][i] = (float)(i % 5) + 1;
    model_forward(model, param, &activations, &pass);
    for (size_t i = 0; i < 2 * model->widths[model->layers]; i++)
        activations.a[model->layers][i] = 1;
    model_backward(model, param, &activations, &pass, grad, &listener);
    activations_release(&activations, model, &memory);
}

/* What is left is a model without that layer. */
START_TEST(a_layer_left_out_passes_everything_on)
{
    static const size_t deep[5] = {5, 3, 3, 3, 2}, shallow[4] = {5, 3, 3, 2};
    enum { COUNT = 18 + 12 + 12 + 8, OTHER = 12 };
    struct model model, less;
    struct heard heard = {0}, other = {0};
    float param[COUNT], of_less[COUNT - OTHER], grad[COUNT] = {0}, expected[COUNT - OTHER] = {0};
    model_plan(&model, deep, 4, true);
    model_plan(&less, shallow, 3, true);
    model_init_he(&model, param, 4);
    memcpy(of_less, param, 18 * sizeof *param);
    memcpy(of_less + 18, param + 18 + OTHER, (COUNT - OTHER - 18) * sizeof *param);
    pass_of(&model, param, 1 << 1, grad, &heard);
    pass_of(&less, of_less, 0, expected, &other);
    ck_assert(memcmp(grad, expected, 18 * sizeof *grad) == 0);
    ck_assert(memcmp(grad + 18 + OTHER, expected + 18, (COUNT - OTHER - 18) * sizeof *grad) == 0);
    for (size_t i = 18; i < 18 + OTHER; i++)
        ck_assert(grad[i] == 0);
}
END_TEST

/* So that buckets leave as early as if it had got a gradient. */
START_TEST(an_unused_tensor_is_announced_where_its_turn_comes)
{
    struct model model;
    struct heard heard = {0};
    float param[512] = {0}, grad[512] = {0};
    plan(&model);
    pass_of(&model, param, may, grad, &heard);
    ck_assert_uint_eq(heard.count, 2 * LAYERS);
    for (size_t i = 0; i < 2 * LAYERS; i++) {
        ck_assert_uint_eq(heard.tensors[i], 2 * LAYERS - 1 - i);
        ck_assert(heard.unused[i] == (may >> i / 2 & 1));
    }
}
END_TEST

/* The weight of layers 1 and 2 is used as long as one of them is. */
START_TEST(a_tied_weight_is_unused_when_no_layer_uses_it)
{
    static const struct {
        uint32_t skipped;
        bool unused;
    } rows[] = {{0, false}, {1 << 1, false}, {1 << 2, false}, {1 << 1 | 1 << 2, true}};
    size_t weight_from[LAYERS];
    struct fail fail = {0};
    struct model model;
    struct heard heard = {0};
    float param[512] = {0}, grad[512] = {0};
    ck_assert_int_eq(tie_read("fc3=fc2", widths, LAYERS, weight_from, &fail), 0);
    model_plan_tied(&model, widths, LAYERS, true, weight_from);
    pass_of(&model, param, rows[_i].skipped, grad, &heard);
    ck_assert_uint_eq(heard.count, model.tensor_count);
    ck_assert(heard.unused[model.weight_of[1]] == rows[_i].unused);
}
END_TEST

/* --- two ranks ------------------------------------------------------------------------------- */

/* y = w2 h, h = w1 x with w2 = 1: the gradient of w1 is x = 4, of a sample that weighs 1/2. Rank 1
 * leaves layer 0 out of the second step. */
struct two_layers {
    struct inside inside;
    struct ddp ddp;
    struct activations activations;
    struct memory memory;
    float param[2], grad[2];
};

static int two_layers_open(struct two_layers *two, struct ranks_self *self)
{
    static const size_t ones[3] = {1, 1, 1};
    *two = (struct two_layers){.param = {1, 1}};
    int wrong = inside_open(&two->inside, self, 3, self->context);
    struct run *run = &two->inside.run;
    model_plan(&run->model, ones, 2, false);
    two->ddp.grad = two->grad;
    two->ddp.reduce = ddp_allreduce;
    run->optimizer.updates = 1;
    wrong = wrong || activations_init(&two->activations, &run->model, 1, &two->memory);
    return wrong || ddp_init_over(&two->ddp, run, self->comm, &run->memory);
}

static int two_layers_step(struct two_layers *two, struct ranks_self *self, uint32_t skipped)
{
    struct pass pass = {.rows = 1, .skipped = skipped};
    struct model_listener listener = ddp_listener(&two->ddp);
    two->grad[0] = two->grad[1] = 0; // as trainer_gradient does
    ddp_begin(&two->ddp);
    two->activations.a[0][0] = 4;
    model_forward(&two->inside.run.model, two->param, &two->activations, &pass);
    two->activations.a[2][0] = 0.5f;
    model_backward(&two->inside.run.model, two->param, &two->activations, &pass, two->grad,
                   &listener);
    return ddp_wait(&two->ddp, &self->fail);
}

static void two_layers_close(struct two_layers *two)
{
    ddp_stop(&two->ddp);
    activations_release(&two->activations, &two->inside.run.model, &two->memory);
    inside_close(&two->inside);
}

static int missing_is_zero_body(struct ranks_self *self)
{
    struct two_layers two;
    int wrong = two_layers_open(&two, self) || two_layers_step(&two, self, 0) ||
                ranks_expect(self, two.grad[0] == 4, "both use it: %g", (double)two.grad[0]) ||
                two_layers_step(&two, self, self->rank == 1) ||
                ranks_expect(self, two.grad[0] == 2, "rank 1 does not: %g", (double)two.grad[0]) ||
                two_layers_step(&two, self, 1) ||
                ranks_expect(self, two.grad[0] == 0, "nobody does: %g", (double)two.grad[0]);
    two_layers_close(&two);
    return wrong ? 1 : 0;
}

START_TEST(with_find_unused_a_missing_gradient_is_zero)
{
    static char *const flags[] = {"--find-unused", "--find-unused --no-overlap",
                                  "--find-unused --bucket-kb 0.004"};
    struct ranks_result result;
    ranks_run(2, missing_is_zero_body, flags[_i], &result);
    ranks_assert_ok(&result);
}
END_TEST

static int missing_stops_body(struct ranks_self *self)
{
    static const char words[] = "rank 1, step 1: fc1.weight got no gradient";
    struct two_layers two;
    int wrong = two_layers_open(&two, self);
    int stopped = two_layers_step(&two, self, 0); // rank 0 may be told before it has left step 0
    wrong = wrong || (stopped && self->rank == 1);
    stopped = stopped || two_layers_step(&two, self, self->rank == 1);
    const char *told = self->fail.code ? self->fail.text : comm_fail(self->comm)->text;
    bool names = strstr(told, words) && strstr(told, "--find-unused");
    char text[FAIL_TEXT_BYTES];
    snprintf(text, sizeof text, "%s", told);
    self->fail = (struct fail){0};
    wrong = wrong || ranks_expect(self, stopped && names, "%d: %s", stopped, text);
    two_layers_close(&two);
    return wrong ? 1 : 0;
}

/* And the other rank, which waits for the bucket, is told and need not wait for its deadline. */
START_TEST(without_it_all_ranks_stop_naming_parameter_rank_and_step)
{
    static char *const flags[] = {"--no-verify", "--no-overlap", "--bucket-kb 0.004"};
    struct ranks_result result;
    ranks_run(2, missing_stops_body, flags[_i], &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- programs -------------------------------------------------------------------------------- */

START_TEST(a_run_without_find_unused_stops_on_every_rank)
{
    struct lesson lesson = {3 + _i % 2, 1 + _i / 2};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, lesson, "--hidden 16,16 --layer-drop 1 --timeout 25");
    ck_assert_msg(program.code == 1 && strstr(program.err, ", step 0: fc2.bias got no gradient, so "
                                                           "bucket"),
                  "%d: %s%s", program.code, program.out, program.err);
    ck_assert_msg(!strstr(program.err, "waited"), "%s", program.err); // told, not timed out
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* With few buffers and many buckets, on some ranks only, in some steps only: nobody waits for a buffer, or
 * for parameters, that will never come. */
START_TEST(so_it_does_where_buffers_are_few)
{
    char arguments[256];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments,
             "--hidden 16,16,16,16 --layer-drop 0.3 --bucket-kb 0.5 --first-bucket-kb 0.1 "
             "--persist-kb 0 --stage %d --seed %d --timeout 25",
             2 + _i % 2, 1 + _i / 2);
    lesson_run(&program, &folder, (struct lesson){4, 3}, arguments);
    ck_assert_msg(program.code == 1 && strstr(program.err, " got no gradient, so bucket"),
                  "%d: %s%s", program.code, program.out, program.err);
    ck_assert_msg(!strstr(program.err, "waited"), "%s", program.err);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

static bool all_speak(const char *text, int lesson)
{
    char own[64];
    bool all = !strstr(text, "was stopped");
    for (int rank = 0; rank < 3 && all; rank++) {
        snprintf(own, sizeof own, "[%d] lesson0%d", rank, lesson);
        all = strstr(text, own) != NULL;
    }
    return all;
}

/* Coins of ranks 0 and 2 fall alike in step 2: either may be first, rank 1 never. Who only hears of it says so
 * and is not cut short, though it has a thread of communication that a signal might end: unless, on a busy
 * machine, it is told to end before it has heard why, hence the tries. */
START_TEST(the_first_cause_is_a_rank_that_missed_a_gradient_and_all_speak)
{
    struct folder folder;
    struct program program;
    char own[64];
    bool spoke = false;
    folder_open(&folder);
    for (int i = 0; i < 10 && !spoke; i++) {
        lesson_run(&program, &folder, (struct lesson){3 + _i % 2, 3},
                   "--hidden 16,16 --layer-drop 0.3 --no-verify");
        const char *cause = strstr(program.err, "first cause: rank ");
        ck_assert_msg(program.code == 1 && cause, "%s%s", program.out, program.err);
        snprintf(own, sizeof own, "rank %d, step 2: fc2.bias got no gradient",
                 atoi(cause + strlen("first cause: rank ")));
        ck_assert_msg(strstr(program.err, own) != NULL, "%s", program.err);
        spoke = all_speak(program.err, 3 + _i % 2);
        program_close(&program);
    }
    ck_assert(spoke);
    folder_close(&folder);
}
END_TEST

START_TEST(a_network_without_such_a_layer_is_refused)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){1 + _i, 2}, "--hidden 12,13 --layer-drop 0.5", 2,
                 "--layer-drop: no hidden layer has as many outputs as inputs");
    folder_close(&folder);
}
END_TEST

/* A learning rate of 0 leaves the first parameters: both runs evaluate those. */
START_TEST(evaluation_leaves_no_layer_out)
{
    char told[2][64] = {"", ""};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    for (int i = 0; i < 2; i++) {
        lesson_run(&program, &folder, (struct lesson){3, 2},
                   i ? "--hidden 16,16 --steps 2 --lr 0 --layer-drop 1 --find-unused"
                     : "--hidden 16,16 --steps 2 --lr 0");
        const char *at = strstr(program.out, "test loss ");
        ck_assert_msg(program.code == 0 && at, "%s%s", program.out, program.err);
        snprintf(told[i], sizeof told[i], "%.36s", at);
        program_close(&program);
    }
    ck_assert_str_eq(told[0], told[1]);
    folder_close(&folder);
}
END_TEST

Suite *layer_drop_suite(void)
{
    Suite *suite = suite_create("layer_drop");
    TCase *tcase = tcase_create("layer_drop");
    tcase_add_test(tcase, only_hidden_layers_of_equal_widths_may_be_left_out);
    tcase_add_test(tcase, coins_repeat_and_differ_by_seed_rank_update_and_layer);
    tcase_add_test(tcase, as_many_are_left_out_as_asked);
    tcase_add_test(tcase, a_layer_left_out_passes_everything_on);
    tcase_add_test(tcase, an_unused_tensor_is_announced_where_its_turn_comes);
    tcase_add_loop_test(tcase, a_tied_weight_is_unused_when_no_layer_uses_it, 0, 4);
    tcase_add_loop_test(tcase, with_find_unused_a_missing_gradient_is_zero, 0, 3);
    tcase_add_loop_test(tcase, without_it_all_ranks_stop_naming_parameter_rank_and_step, 0, 3);
    tcase_add_loop_test(tcase, a_run_without_find_unused_stops_on_every_rank, 0, 8);
    tcase_add_loop_test(tcase, so_it_does_where_buffers_are_few, 0, 8);
    tcase_add_loop_test(tcase, the_first_cause_is_a_rank_that_missed_a_gradient_and_all_speak, 0,
                        6);
    tcase_add_loop_test(tcase, a_network_without_such_a_layer_is_refused, 0, 4);
    tcase_add_test(tcase, evaluation_leaves_no_layer_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
