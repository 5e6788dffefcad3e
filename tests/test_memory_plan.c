/* What a rank will keep and send, by formula: the hand-made numbers, and what must add up. */
#include "lesson04_zero/memory_plan.h"
#include "lesson04_zero/traffic_plan.h"
#include "tests/inside.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>

/* 64-64-10: 4810 parameters; buckets of 4 and 256 KiB: 650 and 4160. */
static struct inside inside;

static struct memory_case digits(int world, const char *arguments)
{
    ck_assert_msg(inside_prepare(&inside, 4, world, arguments) == 0, "%s", inside.run.fail.text);
    return memory_case_of(&inside.run);
}

static size_t bytes(const struct memory_case *of, size_t rank, enum memory_use use)
{
    return memory_plan_of(of, rank).bytes[use];
}

START_TEST(the_formulas_give_what_one_computes_by_hand)
{
    struct memory_case of = digits(4, "--optimizer adam --batch 10");
    ck_assert_uint_eq(of.model->count, 4810);
    ck_assert_uint_eq(of.buckets.count, 2);
    ck_assert_uint_eq(bytes(&of, 0, MEMORY_PARAMETERS), 4 * 4810);
    ck_assert_uint_eq(bytes(&of, 3, MEMORY_GRADIENTS), 4 * 4810);
    ck_assert_uint_eq(bytes(&of, 0, MEMORY_OPTIMIZER), 2 * 4 * (163 + 1040));
    ck_assert_uint_eq(bytes(&of, 3, MEMORY_OPTIMIZER), 2 * 4 * (162 + 1040));
    ck_assert_uint_eq(bytes(&of, 0, MEMORY_ACTIVATIONS), 4 * 3 * (64 + 64 + 10 + 2 * 64));
    struct memory_plan plan = memory_plan_of(&of, 1);
    ck_assert_uint_eq(plan.buffers[BUFFER_DATA], 4 * (1797 * 65 + 1438));
    ck_assert_uint_eq(plan.buffers[BUFFER_BATCH], 4 * 3 * (1 + 10));
    ck_assert_uint_gt(plan.buffers[BUFFER_LINKS], 3 * 256 * 1024);
    ck_assert_uint_eq(plan.buffers[BUFFER_COMPRESS], 0);
    inside_close(&inside);
}
END_TEST

START_TEST(one_process_and_lesson_3_keep_all_of_the_state)
{
    struct memory_case of = digits(4, "--optimizer adam");
    of.stage = STAGE_DDP;
    ck_assert_uint_eq(bytes(&of, 2, MEMORY_OPTIMIZER), 2 * 4 * 4810);
    of.stage = STAGE_ALONE;
    of.world = 1;
    ck_assert_uint_eq(bytes(&of, 0, MEMORY_OPTIMIZER), 2 * 4 * 4810);
    ck_assert_uint_eq(memory_plan_of(&of, 0).buffers[BUFFER_LINKS], 0);
    inside_close(&inside);
}
END_TEST

static const struct {
    const char *arguments;
    size_t states;
} rules[] = {{"--momentum 0", 0}, {"--optimizer sgd", 1}, {"--optimizer adamw", 2}};

START_TEST(an_optimizer_keeps_as_many_arrays_as_it_has_states)
{
    struct memory_case of = digits(1, rules[_i].arguments);
    ck_assert_uint_eq(bytes(&of, 0, MEMORY_OPTIMIZER), rules[_i].states * 4 * 4810);
    inside_close(&inside);
}
END_TEST

/* --- what must add up ------------------------------------------------------------------------ */

static const char *const cuts[] = {"", "--bucket-kb 1", "--bucket-kb 0.004",
                                   "--freeze fc1 --bucket-kb 1", "--hidden none"};
enum { CUTS = sizeof cuts / sizeof *cuts, WORLDS_MOST = 8 };

START_TEST(all_ranks_own_the_trained_parameters_once)
{
    struct memory_case of = digits(_i / CUTS + 1, cuts[_i % CUTS]);
    size_t owned = 0, trained = 0;
    for (int rank = 0; rank < of.world; rank++)
        owned += memory_owned(&of, (size_t)rank);
    for (size_t i = 0; i < inside.run.trained_count; i++)
        trained += inside.run.trained[i].count;
    ck_assert_uint_eq(owned, trained);
    inside_close(&inside);
}
END_TEST

/* Whoever sends what, each half takes every element past n - 1 ranks once. */
START_TEST(each_half_of_an_all_reduce_moves_every_element_to_all_other_ranks)
{
    struct memory_case of = digits(_i / CUTS + 1, cuts[_i % CUTS]);
    const enum algorithm algorithms[] = {ALGORITHM_RING, ALGORITHM_DIRECT};
    of.stage = STAGE_DDP; // where each rank owns all there is
    size_t moved = 4 * ((size_t)of.world - 1) * memory_owned(&of, 0);
    of.stage = 1;
    for (size_t i = 0; i < 2; i++) {
        struct choice choice = choice_fixed(algorithms[i]);
        size_t gradients = 0, parameters = 0;
        for (int rank = 0; rank < of.world; rank++) {
            struct traffic_plan plan = traffic_plan_of(&of, &choice, (size_t)rank);
            gradients += plan.gradient_bytes;
            parameters += plan.parameter_bytes;
        }
        ck_assert_uint_eq(gradients, moved);
        ck_assert_uint_eq(parameters, moved);
    }
    inside_close(&inside);
}
END_TEST

START_TEST(a_higher_stage_keeps_no_more_but_for_its_pools_and_sends_no_less)
{
    struct memory_case of = digits(_i / CUTS + 1, cuts[_i % CUTS]);
    struct choice ring = choice_fixed(ALGORITHM_RING);
    for (int rank = 0; rank < of.world; rank++)
        for (of.stage = 2; of.stage <= STAGE_MOST; of.stage++) {
            struct memory_case below = of;
            below.stage--;
            struct memory_plan plan = memory_plan_of(&of, (size_t)rank);
            struct memory_plan other = memory_plan_of(&below, (size_t)rank);
            size_t kept = plan.total_bytes - plan.buffers[BUFFER_POOLS];
            size_t persists = 4 * memory_owned(&of, (size_t)rank); // owned, and here whole too
            ck_assert_uint_le(kept, other.total_bytes - other.buffers[BUFFER_POOLS] + persists);
            ck_assert_uint_ge(traffic_plan_of(&of, &ring, (size_t)rank).total_bytes,
                              traffic_plan_of(&below, &ring, (size_t)rank).total_bytes);
        }
    inside_close(&inside);
}
END_TEST

/* 64-9-9-10, a bucket for each tensor, none stays: weights are gathered for forward and for backward, the
 * last layer's once. */
START_TEST(stage_3_gathers_what_one_counts_by_hand)
{
    static const char flags[] = "--stage 3 --hidden 9,9 --bucket-kb 0.004 --persist-kb 0 --no-bias";
    struct choice ring = choice_fixed(ALGORITHM_RING);
    for (int micro = 1; micro <= 3; micro++) {
        char arguments[128];
        size_t gathered = 0;
        snprintf(arguments, sizeof arguments, "%s --accumulate %d", flags, micro);
        struct memory_case of = digits(3, arguments);
        for (size_t rank = 0; rank < 3; rank++)
            gathered += traffic_plan_of(&of, &ring, rank).parameter_bytes;
        /* fc1's of a micro-batch's end is still there when the next begins */
        size_t times_fc1 = (size_t)micro + 1, times_fc2 = 2 * (size_t)micro;
        ck_assert_uint_eq(
            gathered, 2 * 4 * (times_fc1 * 64 * 9 + times_fc2 * 9 * 9 + (size_t)micro * 9 * 10));
        inside_close(&inside);
    }
}
END_TEST

START_TEST(in_a_ring_each_rank_sends_for_zero_1_what_it_sends_for_lesson_3)
{
    struct memory_case of = digits(_i / CUTS + 1, cuts[_i % CUTS]), ddp = of;
    struct choice ring = choice_fixed(ALGORITHM_RING);
    ddp.stage = STAGE_DDP;
    for (int rank = 0; rank < of.world; rank++) {
        struct traffic_plan sharded = traffic_plan_of(&of, &ring, (size_t)rank);
        struct traffic_plan whole = traffic_plan_of(&ddp, &ring, (size_t)rank);
        ck_assert_uint_eq(sharded.total_bytes, whole.total_bytes);
        ck_assert_uint_eq(whole.parameter_bytes, 0);
    }
    inside_close(&inside);
}
END_TEST

Suite *memory_plan_suite(void)
{
    Suite *suite = suite_create("memory_plan");
    TCase *tcase = tcase_create("formulas");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_formulas_give_what_one_computes_by_hand);
    tcase_add_test(tcase, one_process_and_lesson_3_keep_all_of_the_state);
    tcase_add_loop_test(tcase, an_optimizer_keeps_as_many_arrays_as_it_has_states, 0, 3);
    tcase_add_loop_test(tcase, all_ranks_own_the_trained_parameters_once, 0, CUTS * WORLDS_MOST);
    tcase_add_loop_test(tcase, each_half_of_an_all_reduce_moves_every_element_to_all_other_ranks, 0,
                        CUTS * WORLDS_MOST);
    tcase_add_loop_test(tcase, a_higher_stage_keeps_no_more_but_for_its_pools_and_sends_no_less, 0,
                        CUTS * WORLDS_MOST);
    tcase_add_test(tcase, stage_3_gathers_what_one_counts_by_hand);
    tcase_add_loop_test(tcase, in_a_ring_each_rank_sends_for_zero_1_what_it_sends_for_lesson_3, 0,
                        CUTS * WORLDS_MOST);
    suite_add_tcase(suite, tcase);
    return suite;
}
