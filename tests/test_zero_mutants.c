/* Mistakes in sharding, in what is kept, and in stages 2 and 3: each is found by lesson 4's own proof. */
#include "tests/mutants.h"
#include "tests/suites.h"

#include <check.h>

static const char gradient[] =
    "verify step 0: owned gradient chunks = those of lesson 3's gradient";

START_TEST(a_buffer_that_keeps_the_last_buckets_gradient_is_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero2.c",
        .text = "    memset(buffer->floats, 0, slice.count * sizeof *buffer->floats);",
        .mistake = "    ;",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 2 --hidden 16,16,16 --bucket-kb 1",
        .proof = gradient,
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(the_chunk_of_another_rank_that_is_kept_is_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero2.c",
        .text = "zero2->sending[bucket] + own.begin,",
        .mistake = "zero2->sending[bucket],",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 2",
        .proof = "verify step 0, rank 1: owned gradient chunks = those of lesson 3's gradient",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* A bucket of its own for each micro-batch: the last one's alone is sent. */
START_TEST(the_gradient_of_the_last_micro_batch_only_is_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero2.c",
        .text = "    if (!zero2->filling[bucket])\n        begin(zero2, bucket);\n}",
        .mistake =
            "    if (zero2->filling[bucket] && zero2->ddp->model->tensors[tensor].slice.begin == "
            "0)\n"
            "        memset(zero2->filling[bucket]->floats, 0,\n"
            "               zero2->shard->plan->buckets[bucket].slice.count * sizeof(float));\n"
            "    if (!zero2->filling[bucket])\n        begin(zero2, bucket);\n}",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 2 --accumulate 2 --bucket-kb 0.004",
        .proof = gradient,
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(parameters_gathered_without_this_ranks_own_are_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero3.c",
        .text = "    int error = put_own_chunk(zero3, bucket, values);",
        .mistake = "    int error = 0;",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 3",
        .proof = gradient,
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(small_buckets_left_as_they_were_before_the_update_are_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero3.c",
        .text = "int zero3_refresh(struct zero3 *zero3)\n{\n",
        .mistake = "int zero3_refresh(struct zero3 *zero3)\n{\n"
                   "    static int calls;\n"
                   "    if (calls++ > 0)\n"
                   "        return 0;\n",
        .lesson = {4, 3},
        .arguments = "--steps 2 --stage 3",
        .proof = "verify step 1: owned gradient chunks = those of lesson 3's gradient",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

#ifndef __SANITIZE_THREAD__ // which finds it first
/* On a slow link a gather takes longer than a layer. */
START_TEST(a_layer_that_does_not_wait_for_its_parameters_is_found)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero3.c",
        .text = "            pool_await(&zero3->pool, zero3->buffers[i]);",
        .mistake = "            zero3->buffers[i]->state = POOL_FILLING;",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 3 --link 1gbit,20ms",
        .proof = gradient,
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST
#endif

START_TEST(a_shard_summed_with_another_weight_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero.c",
        .text = "return reduce_scatter(ddp->comm, grad, slice.count, COMM_F32, COMM_SUM);",
        .mistake = "for (size_t i = 0; i < slice.count; i++)\n"
                   "        grad[i] *= (float)comm_world(ddp->comm);\n"
                   "    return reduce_scatter(ddp->comm, grad, slice.count, COMM_F32, COMM_SUM);",
        .lesson = {4, 2},
        .arguments = "--steps 2",
        .proof = "verify step 0: owned gradient chunks = those of lesson 3's gradient",
        .place = "first at fc1.weight[",
        .cause = "2 times the expected one: summed over 2 ranks, not averaged",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Each round passes on the chunk before the right one: rank r ends with a part of chunk r's sum. Lesson
 * 3's replica has the same ring, so only lesson 1 can tell. */
START_TEST(a_sum_that_stops_short_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/ring.c",
        .text = "error = pass(ring, ring->rank - 1 - round, ring->rank - 2 - round, COMM_REDUCE);",
        .mistake = "error = pass(ring, ring->rank - round, ring->rank - 1 - round, COMM_REDUCE);",
        .lesson = {4, 3},
        .arguments = "--steps 2",
        .proof = "verify step 0: gradient after the sum ~ lesson 1's gradient of the whole batch",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* What lies beyond the owned chunk, padding elsewhere, is a partial sum here. */
START_TEST(elements_not_owned_leaking_into_the_norm_are_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero_norm.c",
        .text = "norm_add(norm, owned_grad(zero, i, passed), count);",
        .mistake = "norm_add(norm, owned_grad(zero, i, passed), count\n"
                   "                 + (zero->shard.owned[i].begin == 0 ? 64 : 0));",
        .lesson = {4, 2},
        .arguments = "--steps 2 --clip 0.5",
        .proof = "verify step 0: norm of the owned chunks = lesson 3's norm",
        .place = "found ",
        .cause = "elements counted that are not owned",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(optimizer_state_not_sharded_is_found_by_the_ledger)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/shard.c",
        .text = "        struct slice chunk = shard_chunk(shard, i);",
        .mistake = "        struct slice chunk = {0, plan->buckets[i].slice.count};",
        .lesson = {4, 2},
        .arguments = "--steps 2",
        .proof = "rank 0 owns 4810 parameters; chunk 0 of every bucket is 2405",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(optimizer_state_larger_than_what_is_owned_is_found_by_the_ledger)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/optimizer.c",
        .text = "memory_floats(memory, MEMORY_OPTIMIZER, optimizer->count);",
        .mistake = "memory_floats(memory, MEMORY_OPTIMIZER, model->count);",
        .lesson = {4, 2},
        .arguments = "--steps 2 --optimizer adam",
        .proof = "rank 0 keeps 38480 bytes of optimizer; the formula says 19240",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_whole_gradient_in_stage_2_is_found_by_the_ledger)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero2.c",
        .text = "memory_floats(&run->memory, MEMORY_GRADIENTS, shard->count);",
        .mistake = "memory_floats(&run->memory, MEMORY_GRADIENTS, run->model.count);",
        .lesson = {4, 2},
        .arguments = "--steps 2 --stage 2",
        .proof = "rank 0 keeps 19240 bytes of gradients; the formula says 9620",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(an_array_filed_under_another_use_is_found_by_the_ledger)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "trainer->targets = memory_floats(memory, MEMORY_BUFFERS, rows * outputs);",
        .mistake = "trainer->targets = memory_floats(memory, MEMORY_OTHER, rows * outputs);",
        .lesson = {4, 2},
        .arguments = "--steps 2",
        .proof = "bytes of buffers; the formula says",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(an_array_that_steps_take_is_found_by_the_ledger_at_the_end)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero.c",
        .text =
            "    int error = zero->stage < 3 ? share_slab(zero) : zero3_refresh(&zero->zero3);\n",
        .mistake =
            "    int error = zero->stage < 3 ? share_slab(zero) : zero3_refresh(&zero->zero3);\n"
            "    memory_floats(&run->memory, MEMORY_OTHER, 16);\n",
        .lesson = {4, 2},
        .arguments = "--steps 3",
        .proof = "rank 0 keeps 192 bytes of other; the formula says 0",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(parameters_not_gathered_on_one_rank_are_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/shard.c",
        .text = "    return all_gather(comm, values, shard->plan->buckets[bucket].slice.count, "
                "COMM_F32);",
        .mistake = "    static float aside[1 << 16];\n"
                   "    size_t count = shard->plan->buckets[bucket].slice.count;\n"
                   "    for (size_t j = 0; j < count; j++)\n"
                   "        aside[j] = values[j];\n"
                   "    if (comm_rank(comm) == 1)\n"
                   "        values = aside;\n"
                   "    return all_gather(comm, values, count, COMM_F32);",
        .lesson = {4, 2},
        .arguments = "--steps 2",
        .proof = "verify step 0, rank 1: parameters = lesson 3's parameters",
        .place = "first at fc1.weight[1] of rank 1: found ",
        .cause = "that of the step before: a stale bucket, or a part not gathered",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

Suite *zero_mutants_suite(void)
{
    Suite *suite = suite_create("zero_mutants");
    TCase *tcase = tcase_create("mutants");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_shard_summed_with_another_weight_is_found_by_lesson_4);
    tcase_add_test(tcase, a_sum_that_stops_short_is_found_by_lesson_4);
    tcase_add_test(tcase, elements_not_owned_leaking_into_the_norm_are_found_by_lesson_4);
    tcase_add_test(tcase, optimizer_state_not_sharded_is_found_by_the_ledger);
    tcase_add_test(tcase, optimizer_state_larger_than_what_is_owned_is_found_by_the_ledger);
    tcase_add_test(tcase, a_whole_gradient_in_stage_2_is_found_by_the_ledger);
    tcase_add_test(tcase, an_array_filed_under_another_use_is_found_by_the_ledger);
    tcase_add_test(tcase, an_array_that_steps_take_is_found_by_the_ledger_at_the_end);
    tcase_add_test(tcase, parameters_not_gathered_on_one_rank_are_found_by_lesson_4);
    tcase_add_test(tcase, a_buffer_that_keeps_the_last_buckets_gradient_is_found);
    tcase_add_test(tcase, the_chunk_of_another_rank_that_is_kept_is_found);
    tcase_add_test(tcase, the_gradient_of_the_last_micro_batch_only_is_found);
    tcase_add_test(tcase, parameters_gathered_without_this_ranks_own_are_found);
    tcase_add_test(tcase, small_buckets_left_as_they_were_before_the_update_are_found);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tcase, a_layer_that_does_not_wait_for_its_parameters_is_found);
#endif
    suite_add_tcase(suite, tcase);
    return suite;
}
