/* What must hold at every stage of ZeRO, in numbers small enough to check by hand. */
#include "lesson04_zero/shard.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

enum { STAGES = 3, ARGUMENTS_BYTES = 1024, MORE_BYTES = 256, WORLD_MOST = 8 };

/* y = w x + b on a.csv, in the file's order; everything is sharded that a stage shards. */
static void fit(const struct folder *folder, struct lesson lesson, int stage, const char *more)
{
    char arguments[ARGUMENTS_BYTES], staged[64] = "";
    if (lesson.number == 4)
        snprintf(staged, sizeof staged, "--persist-kb 0 --stage %d", stage);
    snprintf(arguments, sizeof arguments, "--data a.csv --task regress --no-shuffle %s %s", staged,
             more);
    lesson_ok(folder, lesson, arguments);
}

/* Every element of a parameter after the first update, as the last rank has dumped it. */
static void check_param(const struct folder *folder, int world, const char *tensor, size_t count,
                        float expected)
{
    char path[64];
    float values[8];
    snprintf(path, sizeof path, "d/rank-%d/step-000000.safetensors", world - 1);
    lesson_read(folder, path, tensor, values, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabsf(values[i] - expected) < 1e-6f, "%s[%zu] is %.9g, not %.9g", tensor, i,
                      (double)values[i], (double)expected);
}

/* Four micro-batches, in which every rank has a sample with the gradient 1, 2, 3 and 4; a bucket for the
 * two weights and one for the bias. */
START_TEST(all_four_micro_batches_are_in_the_gradient)
{
    char more[MORE_BYTES];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv",
                 "1,1,-0.5\n1,1,-0.5\n1,1,-1\n1,1,-1\n1,1,-1.5\n1,1,-1.5\n1,1,-2\n1,1,-2\n");
    snprintf(
        more, sizeof more,
        "--test-data a.csv --hidden none --init const:0 --lr 0.1 --momentum 0 --per-rank-batch 1 "
        "--accumulate 4 --steps 1 --first-bucket-kb 0.004 --bucket-kb 0.008 --dump d %s",
        _i / STAGES ? "--no-overlap" : "");
    fit(&folder, (struct lesson){4, 2}, 1 + _i % STAGES, more);
    check_param(&folder, 2, "param.fc1.weight", 2, -0.25f);
    check_param(&folder, 2, "param.fc1.bias", 1, -0.25f);
    folder_close(&folder);
}
END_TEST

/* Four weights and a bias, all 1, no gradient. Shards of two ranks: three weights | one and the bias. */
START_TEST(weights_decay_and_the_bias_does_not_where_a_shard_has_both)
{
    static const char *const rules[] = {"sgd --momentum 0", "adamw"};
    char more[MORE_BYTES];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "0,0,0,0,1\n0,0,0,0,1\n");
    snprintf(more, sizeof more,
             "--test-data a.csv --hidden none --init const:1 --lr 0.1 --weight-decay 0.5 --batch 2 "
             "--steps 1 --optimizer %s --dump d",
             rules[_i / STAGES]);
    fit(&folder, (struct lesson){4, 2}, 1 + _i % STAGES, more);
    check_param(&folder, 2, "param.fc1.weight", 4, 0.95f);
    check_param(&folder, 2, "param.fc1.bias", 1, 1);
    folder_close(&folder);
}
END_TEST

/* Ten test samples, one at a time: the ranks have 3, 3, 2 and 2 of them, and all go forward three times,
 * gathering a bucket for each tensor, of four layers or of one. No addition rounds, so the loss is lesson 1's. */
START_TEST(ranks_with_fewer_test_samples_take_part_in_every_forward)
{
    char more[MORE_BYTES], bucketed[2 * MORE_BYTES];
    double expected[8], found[8];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,2,1\n2,1,3\n4,2,2\n1,1,5\n3,1,2\n");
    lesson_write(&folder, "b.csv",
                 "1,2,1\n2,1,3\n4,2,2\n1,1,5\n3,1,2\n5,1,2\n1,3,4\n2,2,1\n3,3,2\n1,5,1\n");
    snprintf(more, sizeof more,
             "--test-data b.csv --hidden %s --init const:0.25 --lr 0 --batch 4 --epochs 2 "
             "--metrics m.jsonl",
             _i / STAGES ? "none" : "3,3,3");
    fit(&folder, (struct lesson){1, 1}, 0, more);
    snprintf(bucketed, sizeof bucketed, "%s --first-bucket-kb 0.004 --bucket-kb 0.004", more);
    fit(&folder, (struct lesson){4, 4}, 1 + _i % STAGES, bucketed);
    size_t count = lesson_values(&folder, "m.jsonl", "test_loss", expected, 8);
    ck_assert_uint_ge(count, 2);
    ck_assert_uint_eq(lesson_values(&folder, "m.rank-3.jsonl", "test_loss", found, 8), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(found[i] == expected[i], "%.17g, not %.17g", found[i], expected[i]);
    folder_close(&folder);
}
END_TEST

/* 0.3 is not a bf16. What computes is rounded; what is dumped and saved is not. */
START_TEST(a_frozen_tensor_is_written_as_it_is_where_it_is_rounded_to_compute)
{
    float saved[2];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,1,1\n1,1,1\n");
    fit(&folder, (struct lesson){4, 2}, 1 + _i,
        "--test-data a.csv --hidden none --init const:0.3 --batch 2 --steps 1 --precision bf16 "
        "--freeze fc1.weight --dump d --save s");
    check_param(&folder, 2, "param.fc1.weight", 2, 0.3f);
    lesson_read(&folder, "s/update-00000001/rank-0.safetensors", "param.fc1.weight", saved, 2);
    ck_assert(saved[0] == 0.3f && saved[1] == 0.3f);
    folder_close(&folder);
}
END_TEST

/* Counts that do not divide: none differs from another by more than one, and the sum is the count. */
START_TEST(owned_counts_are_those_by_hand)
{
    static const struct {
        size_t count, world, owned[WORLD_MOST];
    } rows[] = {
        {10, 8, {2, 2, 1, 1, 1, 1, 1, 1}},
        {19, 8, {3, 3, 3, 2, 2, 2, 2, 2}},
        {7, 3, {3, 2, 2}},
        {3, 5, {1, 1, 1, 0, 0}},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const size_t widths[] = {rows[row].count - 1, 1};
        struct model model;
        struct bucket_plan plan;
        size_t sum = 0;
        model_plan(&model, widths, 1, true);
        struct bucket_order order = bucket_order_reverse(&model);
        bucket_plan_make(&plan, &model, &order, 1024, 1024);
        for (size_t rank = 0; rank < rows[row].world; rank++) {
            struct shard shard;
            shard_plan(&shard, &plan, rows[row].world, rank);
            ck_assert_uint_eq(shard.count, rows[row].owned[rank]);
            sum += shard.count;
        }
        ck_assert_uint_eq(sum, rows[row].count);
    }
}
END_TEST

Suite *stages_suite(void)
{
    Suite *suite = suite_create("stages");
    TCase *tcase = tcase_create("stages");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, all_four_micro_batches_are_in_the_gradient, 0, 2 * STAGES);
    tcase_add_loop_test(tcase, weights_decay_and_the_bias_does_not_where_a_shard_has_both, 0,
                        2 * STAGES);
    tcase_add_loop_test(tcase, ranks_with_fewer_test_samples_take_part_in_every_forward, 0,
                        2 * STAGES);
    tcase_add_loop_test(tcase, a_frozen_tensor_is_written_as_it_is_where_it_is_rounded_to_compute,
                        0, STAGES);
    tcase_add_test(tcase, owned_counts_are_those_by_hand);
    suite_add_tcase(suite, tcase);
    return suite;
}
