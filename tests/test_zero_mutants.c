/* Mistakes in stages 2 and 3: each is found by lesson 4's own proof. */
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

Suite *zero_mutants_suite(void)
{
    Suite *suite = suite_create("zero_mutants");
    TCase *tcase = tcase_create("mutants");
    tcase_set_timeout(tcase, 120);
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
