/* Mistakes in what is rounded to 16 bits, each found by a lesson's own proof. See mutants.h. */
#include "tests/mutants.h"
#include "tests/suites.h"

#include <check.h>

/* The owner keeps the float sum it has, and sends what it must. */
START_TEST(a_sum_that_only_its_owner_has_in_full_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/compress.c",
        .text = "        half_bf16_unpack(values, compress->half, bucket.count);",
        .mistake = "    {\n"
                   "        float sum[1 << 16];\n"
                   "        struct slice own = collective_chunk(&all, all.rank);\n"
                   "        half_bf16_unpack(values, compress->half, bucket.count);\n"
                   "        for (int i = 0; i < all.world && i != all.rank; i++)\n"
                   "            half_bf16_unpack(sum, compress->heard + (size_t)i * own.count,\n"
                   "                             own.count);\n"
                   "        for (size_t i = 0; i < own.count && all.rank > 0; i++)\n"
                   "            values[own.begin + i] += sum[i] * 0x1p-12f;\n"
                   "    }",
        .lesson = {3, 2},
        .arguments = "--steps 2 --compress bf16",
        .proof = "verify step 0, rank 1: gradient = the gradient of every other rank",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(parts_added_without_their_first_are_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/compress.c",
        .text = "half_bf16_unpack(rank == 0 ? sum : value, part + from, count);",
        .mistake = "half_bf16_unpack(rank <= 1 ? sum : value, part + from, count);",
        .lesson = {3, 3},
        .arguments = "--steps 2 --compress bf16",
        .proof = "verify step 0: compressed buckets ~ lesson 2's all-reduce of the float gradient",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* 2^-8 of the sum, where the bound leaves room for the roundings that must be. */
START_TEST(a_gradient_cut_off_instead_of_rounded_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "common/half.c",
        .text = "QUIET : rounded(bits, 16);",
        .mistake = "QUIET : bits;",
        .lesson = {3, 2},
        .arguments = "--steps 2 --compress bf16",
        .proof = "verify step 0: compressed buckets ~ lesson 2's all-reduce of the float gradient",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(what_is_sent_and_kept_back_too_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/compress.c",
        .text = "        float taken = x[i] - sent[i];",
        .mistake = "        float taken = kept > 0 ? x[i] - sent[i] : x[i];",
        .lesson = {3, 2},
        .arguments = "--steps 2 --compress bf16 --error-feedback",
        .proof = "compressed buckets + what is kept back now ~ gradient + what was",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_sums_rounding_that_nobody_keeps_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/compress.c",
        .text = "        if (compress->residual)\n            keep(",
        .mistake = "        if (compress->residual && chunk.count == 0)\n            keep(",
        .lesson = {4, 2},
        .arguments = "--steps 2 --compress bf16 --error-feedback",
        .proof = "compressed buckets + what is kept back now ~ gradient + what was",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_shard_summed_in_full_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/zero.c",
        .text = "        return compress_reduce_scatter(&ddp->compress, ddp->comm, grad, slice);",
        .mistake = "        ;",
        .lesson = {4, 2},
        .arguments = "--steps 2 --compress bf16",
        .proof = "verify step 0: owned gradient chunks = those of lesson 3's gradient",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_scale_that_is_not_taken_back_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "        grad[i] *= unscale;",
        .mistake = "        grad[i] *= unscale > 0;",
        .lesson = {1, 1},
        .arguments = "--steps 2 --precision fp16",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

Suite *mutants_half_suite(void)
{
    Suite *suite = suite_create("mutants_half");
    TCase *tcase = tcase_create("mutants_half");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_sum_that_only_its_owner_has_in_full_is_found_by_lesson_3);
    tcase_add_test(tcase, parts_added_without_their_first_are_found_by_lesson_3);
    tcase_add_test(tcase, a_gradient_cut_off_instead_of_rounded_is_found_by_lesson_3);
    tcase_add_test(tcase, what_is_sent_and_kept_back_too_is_found_by_lesson_3);
    tcase_add_test(tcase, a_sums_rounding_that_nobody_keeps_is_found_by_lesson_4);
    tcase_add_test(tcase, a_shard_summed_in_full_is_found_by_lesson_4);
    tcase_add_test(tcase, a_scale_that_is_not_taken_back_is_found_by_the_slope);
    suite_add_tcase(suite, tcase);
    return suite;
}
