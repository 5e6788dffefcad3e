/* SGD, Adam and AdamW by hand, and the same bits however the slab is shared out. */
#include "lesson01_single/optimizer.h"
#include "common/rng.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* One weight and nothing else. */
static void plan_one(struct model *model)
{
    static const size_t widths[2] = {1, 1};
    model_plan(model, widths, 1, false);
}

/* Four weights and one bias. */
static void plan_five(struct model *model)
{
    static const size_t widths[2] = {4, 1};
    model_plan(model, widths, 1, true);
}

static bool near(float found, double expected)
{
    return fabs((double)found - expected) <= 8 * 0x1p-24; // a few roundings of numbers below 1
}

static const struct slice first = {0, 1};

START_TEST(momentum_gives_the_hand_worked_sequence)
{
    static const double expected[4] = {-0.1, -0.29, -0.561, -0.9049};
    struct options options = {.optimizer = OPTIMIZER_SGD, .momentum = 0.9};
    struct rate rate = {.lr = 0.1f, .clip = 1};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 0, grad = 1;
    for (size_t i = 0; i < 4; i++) {
        optimizer_step(&optimizer, &param, &grad, rate);
        ck_assert_msg(near(param, expected[i]), "after update %zu: %.9g", i + 1, (double)param);
    }
    ck_assert_uint_eq(optimizer.updates, 4);
    optimizer_release(&optimizer);
}
END_TEST

/* v = 1, 1.5, 1.75: it holds gradients, which a rate of its own multiplies in every update. */
START_TEST(a_rate_that_changes_does_not_change_the_momentum)
{
    static const float lr[3] = {0.5f, 0.25f, 1}, expected[3] = {-0.5f, -0.875f, -2.625f};
    struct options options = {.optimizer = OPTIMIZER_SGD, .momentum = 0.5};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 0, grad = 1;
    for (size_t i = 0; i < 3; i++) {
        optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = lr[i], .clip = 1});
        ck_assert_msg(param == expected[i], "after update %zu: expected %g, found %.9g", i + 1,
                      (double)expected[i], (double)param);
    }
    optimizer_release(&optimizer);
}
END_TEST

static const enum optimizer_kind kinds[] = {OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW};
enum { KINDS = 3 };

/* States and the number of updates are all there is to carry over. */
START_TEST(an_optimizer_continued_elsewhere_gives_the_same_bits)
{
    struct options options = {.optimizer = kinds[_i], .momentum = 0.9, .weight_decay = 0.1};
    struct rate rate = {.lr = 0.1f, .clip = 1};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer whole, after;
    ck_assert_int_eq(optimizer_init(&whole, &options, &model, &first, 1, &memory), 0);
    ck_assert_int_eq(optimizer_init(&after, &options, &model, &first, 1, &memory), 0);
    float param = 0.5f, grad = 1, resumed = 0;
    for (size_t i = 0; i < 5; i++) {
        if (i == 2) {
            resumed = param;
            after.updates = whole.updates;
            for (size_t j = 0; j < whole.states; j++)
                after.state[j][0] = whole.state[j][0];
        }
        optimizer_step(&whole, &param, &grad, rate);
        if (i >= 2)
            optimizer_step(&after, &resumed, &grad, rate);
    }
    ck_assert(param == resumed);
    optimizer_release(&whole);
    optimizer_release(&after);
}
END_TEST

/* g = 1, then -3:  m = 0.1, -0.21;  v = 0.001, 0.009999;  corrected m = 1, -0.21 / 0.19;
 * corrected v = 1, 0.009999 / 0.001999. */
START_TEST(adam_gives_two_hand_worked_updates)
{
    struct options options = {.optimizer = kinds[1 + _i]};
    struct rate rate = {.lr = 0.01f, .clip = 1};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 0.5f, grad = 1;
    optimizer_step(&optimizer, &param, &grad, rate);
    ck_assert(near(param, 0.49));
    grad = -3;
    optimizer_step(&optimizer, &param, &grad, rate);
    ck_assert(near(param, 0.49 + 0.01 * (0.21 / 0.19) / sqrt(0.009999 / 0.001999)));
    ck_assert(near(optimizer.state[0][0], -0.21) && near(optimizer.state[1][0], 0.009999));
    optimizer_release(&optimizer);
}
END_TEST

START_TEST(adam_divides_by_at_least_epsilon)
{
    struct options options = {.optimizer = OPTIMIZER_ADAM};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 0.5f, grad = 0;
    optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = 1, .clip = 1});
    ck_assert(param == 0.5f);
    grad = 1e-8f; // as large as epsilon: half a step, as the averages are still zero
    optimizer.updates = 0;
    optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = 0.5f, .clip = 1});
    ck_assert(near(param, 0.25));
    optimizer_release(&optimizer);
}
END_TEST

/* Weights and bias 1, no gradient, lr 0.1, decay 0.5, slab cut inside: 0 | 1 | ... | 5. */
START_TEST(weights_decay_and_the_bias_does_not_wherever_the_slab_is_cut)
{
    size_t cut = (size_t)_i % 6;
    enum optimizer_kind kind = kinds[_i / 6];
    /* Adam moves by lr whatever a gradient's size: decay 0.5 is a gradient of 0.5. */
    double weight = kind == OPTIMIZER_ADAM ? 0.9 : 0.95;
    struct slice owned[2] = {{0, cut}, {cut, 5 - cut}};
    struct options options = {.optimizer = kind, .momentum = 0.9, .weight_decay = 0.5};
    struct memory memory = {0};
    struct model model;
    plan_five(&model);
    ck_assert_uint_eq(model.count, 5);
    float param[5] = {1, 1, 1, 1, 1}, grad[5] = {0};
    for (size_t rank = 0; rank < 2; rank++) {
        struct optimizer optimizer;
        ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &owned[rank], 1, &memory), 0);
        optimizer_step(&optimizer, param, grad, (struct rate){.lr = 0.1f, .clip = 1});
        optimizer_release(&optimizer);
    }
    for (size_t i = 0; i < 4; i++)
        ck_assert(near(param[i], weight));
    ck_assert(param[4] == 1);
}
END_TEST

START_TEST(clipping_shrinks_the_gradient_and_not_the_decay)
{
    struct options options = {.optimizer = OPTIMIZER_SGD, .weight_decay = 0.5};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 1, grad = 4;
    optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = 0.125f, .clip = 0.25f});
    ck_assert(param == 1 - 0.125f * (1 + 0.5f));
    ck_assert(grad == 4);
    optimizer_release(&optimizer);
}
END_TEST

/* Of g = 0.25 * 4 + 0.5 the first moment is a tenth. Adam's first update is lr, whatever g is. */
START_TEST(clipping_does_not_shrink_what_adam_adds)
{
    struct options options = {.optimizer = OPTIMIZER_ADAM, .weight_decay = 0.5};
    struct memory memory = {0};
    struct model model;
    plan_one(&model);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, &first, 1, &memory), 0);
    float param = 1, grad = 4;
    optimizer_step(&optimizer, &param, &grad, (struct rate){.lr = 0.125f, .clip = 0.25f});
    ck_assert_msg(near(optimizer.state[0][0], 0.15), "the first moment: expected 0.15, found %.9g",
                  (double)optimizer.state[0][0]);
    optimizer_release(&optimizer);
}
END_TEST

/* --- shared out ------------------------------------------------------------------------------ */

enum { OWNERS_MOST = 4, PIECES_MOST = 12, STEPS = 3, SLAB = 7 * 5 + 5 + 5 * 3 + 3 };

struct cuts {
    struct slice owned[OWNERS_MOST][PIECES_MOST];
    size_t count[OWNERS_MOST];
};

/* Deals neighbouring pieces of random sizes, empty ones among them, to random owners. */
static void cuts_draw(struct cuts *cuts, uint32_t sub)
{
    struct rng rng = {.seed = 11, .stream = RNG_TEST, .sub = sub};
    *cuts = (struct cuts){0};
    size_t begin = 0;
    for (size_t piece = 0; piece < PIECES_MOST; piece++) {
        size_t left = SLAB - begin, owner = rng_bits(&rng, 2 * piece) % OWNERS_MOST;
        size_t count = piece + 1 == PIECES_MOST ? left : rng_bits(&rng, 2 * piece + 1) % 12;
        count = count < left ? count : left;
        cuts->owned[owner][cuts->count[owner]++] = (struct slice){begin, count};
        begin += count;
    }
}

static void draw(float *to, uint32_t sub)
{
    struct rng rng = {.seed = 12, .stream = RNG_TEST, .sub = sub};
    for (size_t i = 0; i < SLAB; i++)
        to[i] = 2 * rng_uniform(&rng, i) - 1;
}

/* STEPS updates of param by one owner of some slices. */
static void train(float *param, const struct options *options, const struct model *model,
                  const struct slice *owned, size_t owned_count)
{
    struct memory memory = {0};
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, options, model, owned, owned_count, &memory), 0);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_OPTIMIZER],
                      optimizer.states * optimizer.count * sizeof(float));
    for (uint32_t step = 0; step < STEPS; step++) {
        float grad[SLAB];
        draw(grad, 100 + step);
        optimizer_step(&optimizer, param, grad, (struct rate){.lr = 0.05f, .clip = 0.7f});
    }
    optimizer_release(&optimizer);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_OPTIMIZER], 0);
}

static void plan_slab(struct model *model)
{
    static const size_t widths[3] = {7, 5, 3};
    model_plan(model, widths, 2, true);
    ck_assert_uint_eq(model->count, SLAB);
}

START_TEST(owners_of_any_parts_together_give_the_bits_of_one_owner)
{
    struct options options = {.optimizer = kinds[_i], .momentum = 0.9, .weight_decay = 0.03};
    struct model model;
    plan_slab(&model);
    float start[SLAB], whole[SLAB], shared[SLAB];
    draw(start, 1);
    memcpy(whole, start, sizeof start);
    train(whole, &options, &model, &(struct slice){0, SLAB}, 1);
    ck_assert(memcmp(whole, start, sizeof start) != 0);
    for (uint32_t cut = 0; cut < 100; cut++) {
        struct cuts cuts;
        cuts_draw(&cuts, cut);
        memcpy(shared, start, sizeof start);
        for (size_t owner = 0; owner < OWNERS_MOST; owner++)
            train(shared, &options, &model, cuts.owned[owner], cuts.count[owner]);
        ck_assert(memcmp(whole, shared, sizeof whole) == 0);
    }
}
END_TEST

/* The owned elements of a slab, one after another. */
static size_t pack(float *packed, const float *slab, const struct slice *owned, size_t count)
{
    size_t packed_count = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(packed + packed_count, slab + owned[i].begin, owned[i].count * sizeof *slab);
        packed_count += owned[i].count;
    }
    return packed_count;
}

/* As train does, on packed arrays, and in parts of 5 elements with their own copies of the states. */
static void train_packed(float *param, const struct options *options, const struct model *model,
                         const struct slice *owned, size_t owned_count)
{
    struct memory memory = {0};
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, options, model, owned, owned_count, &memory), 0);
    optimizer.packed_param = optimizer.packed_grad = true;
    for (uint32_t step = 0; step < STEPS; step++) {
        struct rate rate = {.lr = 0.05f, .clip = 0.7f};
        float grad[SLAB], packed[SLAB];
        draw(grad, 100 + step);
        pack(packed, grad, owned, owned_count);
        for (size_t begin = 0; begin < optimizer.count; begin += 5) {
            struct slice part =
                slice_overlap((struct slice){begin, 5}, (struct slice){0, optimizer.count});
            float *state[OPTIMIZER_STATES_MOST] = {0};
            for (size_t i = 0; i < optimizer.states; i++)
                state[i] = optimizer.state[i] + begin;
            optimizer_part_step(&optimizer, param, packed, state, part, rate);
        }
        optimizer_count(&optimizer, rate);
    }
    optimizer_release(&optimizer);
}

START_TEST(packed_arrays_and_parts_give_the_bits_of_the_slabs)
{
    struct options options = {.optimizer = kinds[_i], .momentum = 0.9, .weight_decay = 0.03};
    struct model model;
    plan_slab(&model);
    float start[SLAB], whole[SLAB], expected[SLAB], packed[SLAB];
    draw(start, 1);
    memcpy(whole, start, sizeof start);
    train(whole, &options, &model, &(struct slice){0, SLAB}, 1);
    for (uint32_t cut = 0; cut < 20; cut++) {
        struct cuts cuts;
        cuts_draw(&cuts, cut);
        for (size_t owner = 0; owner < OWNERS_MOST; owner++) {
            pack(packed, start, cuts.owned[owner], cuts.count[owner]);
            size_t count = pack(expected, whole, cuts.owned[owner], cuts.count[owner]);
            train_packed(packed, &options, &model, cuts.owned[owner], cuts.count[owner]);
            ck_assert(memcmp(packed, expected, count * sizeof *packed) == 0);
        }
    }
}
END_TEST

START_TEST(what_is_not_owned_is_not_touched)
{
    static const struct slice owned[2] = {{3, 2}, {40, 7}};
    struct options options = {.optimizer = kinds[_i], .momentum = 0.9, .weight_decay = 0.03};
    struct model model;
    plan_slab(&model);
    float start[SLAB], param[SLAB];
    draw(start, 2);
    memcpy(param, start, sizeof start);
    train(param, &options, &model, owned, 2);
    for (size_t i = 0; i < SLAB; i++) {
        bool mine = (i >= 3 && i < 5) || (i >= 40 && i < 47);
        ck_assert((param[i] != start[i]) == mine);
    }
}
END_TEST

START_TEST(an_owner_of_nothing_counts_its_updates_all_the_same)
{
    struct options options = {.optimizer = kinds[_i], .momentum = 0.9};
    struct memory memory = {0};
    struct model model;
    plan_slab(&model);
    float param[SLAB] = {0}, grad[SLAB];
    draw(grad, 3);
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &options, &model, NULL, 0, &memory), 0);
    optimizer_step(&optimizer, param, grad, (struct rate){.lr = 1, .clip = 1});
    ck_assert_uint_eq(optimizer.updates, 1);
    ck_assert_uint_eq(optimizer.count, 0);
    for (size_t i = 0; i < SLAB; i++)
        ck_assert(param[i] == 0);
    optimizer_release(&optimizer);
    optimizer_release(&optimizer);
}
END_TEST

START_TEST(states_are_named_and_counted)
{
    struct memory memory = {0};
    struct model model;
    plan_slab(&model);
    struct slice all = {0, SLAB};
    struct options plain = {.optimizer = OPTIMIZER_SGD};
    struct options options[2] = {{.optimizer = OPTIMIZER_SGD, .momentum = 0.5},
                                 {.optimizer = OPTIMIZER_ADAMW}};
    struct optimizer optimizer;
    ck_assert_int_eq(optimizer_init(&optimizer, &plain, &model, &all, 1, &memory), 0);
    ck_assert_uint_eq(optimizer.states, 0);
    optimizer_release(&optimizer);
    ck_assert_int_eq(optimizer_init(&optimizer, &options[0], &model, &all, 1, &memory), 0);
    ck_assert_uint_eq(optimizer.states, 1);
    ck_assert_str_eq(optimizer_state_name(&optimizer, 0), "momentum");
    optimizer_release(&optimizer);
    ck_assert_int_eq(optimizer_init(&optimizer, &options[1], &model, &all, 1, &memory), 0);
    ck_assert_uint_eq(optimizer.states, 2);
    ck_assert_str_eq(optimizer_state_name(&optimizer, 0), "adam_m");
    ck_assert_str_eq(optimizer_state_name(&optimizer, 1), "adam_v");
    optimizer_release(&optimizer);
}
END_TEST

/* Keeps one state of five elements. */
struct shelf {
    size_t state;
    float values[5];
};

static int shelf_read(void *context, size_t state, struct slice part, float *values,
                      struct fail *fail)
{
    struct shelf *shelf = context;
    if (state != shelf->state)
        return fail_set(fail, -EIO, "state %zu is not here", state);
    memcpy(values, shelf->values + part.begin, part.count * sizeof *values);
    return 0;
}

static int shelf_write(void *context, size_t state, struct slice part, const float *values,
                       struct fail *fail)
{
    struct shelf *shelf = context;
    if (state != shelf->state)
        return fail_set(fail, -EIO, "state %zu is not here", state);
    memcpy(shelf->values + part.begin, values, part.count * sizeof *values);
    return 0;
}

START_TEST(a_state_is_read_and_written_wherever_it_is_kept)
{
    static const float put[2] = {3, 4};
    struct options options = {.optimizer = OPTIMIZER_ADAM, .offload = _i ? "d" : NULL};
    struct shelf shelf = {.state = 1};
    struct optimizer_store store = {shelf_read, shelf_write, &shelf};
    struct memory memory = {0};
    struct fail fail = {0};
    struct model model;
    plan_five(&model);
    struct optimizer optimizer;
    float read[5];
    ck_assert_int_eq(
        optimizer_init(&optimizer, &options, &model, &(struct slice){0, 5}, 1, &memory), 0);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_OPTIMIZER], _i ? 0 : 40);
    optimizer.store = _i ? &store : NULL;
    ck_assert_int_eq(optimizer_write(&optimizer, 1, (struct slice){2, 2}, put, &fail), 0);
    ck_assert_int_eq(optimizer_read(&optimizer, 1, (struct slice){0, 5}, read, &fail), 0);
    ck_assert(read[0] == 0 && read[1] == 0 && read[2] == 3 && read[3] == 4 && read[4] == 0);
    ck_assert((optimizer_read(&optimizer, 0, (struct slice){0, 5}, read, &fail) == 0) == !_i);
    ck_assert((optimizer_write(&optimizer, 0, (struct slice){0, 2}, put, &fail) == 0) == !_i);
    optimizer_release(&optimizer);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_OPTIMIZER], 0);
}
END_TEST

Suite *optimizer_suite(void)
{
    Suite *suite = suite_create("optimizer");
    TCase *tcase = tcase_create("optimizer");
    tcase_add_test(tcase, momentum_gives_the_hand_worked_sequence);
    tcase_add_test(tcase, a_rate_that_changes_does_not_change_the_momentum);
    tcase_add_loop_test(tcase, an_optimizer_continued_elsewhere_gives_the_same_bits, 0, KINDS);
    tcase_add_loop_test(tcase, adam_gives_two_hand_worked_updates, 0, 2);
    tcase_add_test(tcase, adam_divides_by_at_least_epsilon);
    tcase_add_loop_test(tcase, weights_decay_and_the_bias_does_not_wherever_the_slab_is_cut, 0,
                        6 * KINDS);
    tcase_add_test(tcase, clipping_shrinks_the_gradient_and_not_the_decay);
    tcase_add_test(tcase, clipping_does_not_shrink_what_adam_adds);
    tcase_add_loop_test(tcase, owners_of_any_parts_together_give_the_bits_of_one_owner, 0, KINDS);
    tcase_add_loop_test(tcase, packed_arrays_and_parts_give_the_bits_of_the_slabs, 0, KINDS);
    tcase_add_loop_test(tcase, what_is_not_owned_is_not_touched, 0, KINDS);
    tcase_add_loop_test(tcase, an_owner_of_nothing_counts_its_updates_all_the_same, 0, KINDS);
    tcase_add_test(tcase, states_are_named_and_counted);
    tcase_add_loop_test(tcase, a_state_is_read_and_written_wherever_it_is_kept, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
