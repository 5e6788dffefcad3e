/* Bucket plans, worked by hand: the last tensors first, no bucket but a single tensor's too big. */
#include "lesson03_ddp/bucket.h"
#include "tests/suites.h"

#include <check.h>

enum { BUCKETS_MOST = 8 };

/* What a plan must be: tensors in each bucket, from the first sent. Sizes are in floats. */
struct plan_row {
    const char *why;
    size_t widths[5];
    size_t layers;
    bool bias;
    size_t first_bytes, bytes;
    size_t tensors[BUCKETS_MOST]; // ends in 0
};

/* 3-4-2 with biases: fc1.weight 12, fc1.bias 4, fc2.weight 8, fc2.bias 2. */
static const struct plan_row rows[] = {
    {"all fit in the first", {3, 4, 2}, 2, true, 104, 0, {4}},
    {"one byte too few for all", {3, 4, 2}, 2, true, 103, 48, {3, 1}},
    {"the first holds two exactly", {3, 4, 2}, 2, true, 40, 64, {2, 2}},
    {"the first just misses two", {3, 4, 2}, 2, true, 39, 4000, {1, 3}},
    {"the second holds three exactly", {3, 4, 2}, 2, true, 8, 96, {1, 3}},
    {"the second just misses three", {3, 4, 2}, 2, true, 8, 95, {1, 2, 1}},
    {"a tensor larger than any cap", {3, 4, 2}, 2, true, 12, 40, {1, 1, 1, 1}},
    {"the caps are 0", {3, 4, 2}, 2, true, 0, 0, {1, 1, 1, 1}},
    {"only the first cap is 0", {3, 4, 2}, 2, true, 0, 4000, {1, 3}},
    {"no biases", {3, 4, 2}, 2, false, 32, 48, {1, 1}},
    {"no biases, and all fit", {3, 4, 2}, 2, false, 80, 0, {2}},
    {"one layer", {9, 1}, 1, true, 4, 4, {1, 1}},
    {"one tensor", {7, 1}, 1, false, 1, 1, {1}},
    {"four layers", {2, 2, 2, 2, 2}, 4, true, 8, 48, {1, 4, 3}},
    {"four layers, one byte less", {2, 2, 2, 2, 2}, 4, true, 8, 47, {1, 3, 3, 1}},
};
enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(a_plan_is_the_hand_worked_one)
{
    const struct plan_row *row = &rows[_i];
    struct model model;
    struct bucket_plan plan;
    model_plan(&model, row->widths, row->layers, row->bias);
    bucket_plan_make(&plan, &model, row->first_bytes, row->bytes);
    for (size_t i = 0; i < plan.count; i++)
        ck_assert_msg(plan.buckets[i].tensors == row->tensors[i], "%s: bucket %zu has %zu tensors",
                      row->why, i, plan.buckets[i].tensors);
    ck_assert_msg(row->tensors[plan.count] == 0, "%s: %zu buckets are too few", row->why,
                  plan.count);
}
END_TEST

/* Whatever the caps, on the deepest model too. */
static void check_plan(const struct model *model, const struct bucket_plan *plan, size_t first,
                       size_t bytes)
{
    size_t end = model->count, tensors = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct bucket *bucket = &plan->buckets[i];
        ck_assert_uint_gt(bucket->tensors, 0);
        ck_assert_uint_eq(bucket->slice.begin + bucket->slice.count, end); // from the end down
        ck_assert(bucket->tensors == 1 ||
                  bucket->slice.count * sizeof(float) <= (i == 0 ? first : bytes));
        end = bucket->slice.begin;
        tensors += bucket->tensors;
    }
    ck_assert_uint_eq(end, 0);
    ck_assert_uint_eq(tensors, model->tensor_count);
    for (size_t i = 0; i < model->tensor_count; i++) {
        struct slice tensor = model->tensors[i].slice;
        ck_assert_uint_lt(plan->of_tensor[i], plan->count);
        struct slice bucket = plan->buckets[plan->of_tensor[i]].slice;
        ck_assert_uint_eq(slice_overlap(tensor, bucket).count, tensor.count);
    }
}

START_TEST(buckets_tile_the_slab_and_hold_their_tensors_whole)
{
    static const size_t caps[] = {0, 1, 4, 40, 100, 400, 1000, 4096, 1000000};
    size_t widths[MODEL_LAYERS_MOST + 1], layers = _i ? MODEL_LAYERS_MOST : 2;
    for (size_t i = 0; i <= layers; i++)
        widths[i] = 1 + (5 * i) % 13;
    for (int bias = 0; bias < 2; bias++)
        for (size_t i = 0; i < 81; i++) {
            struct model model;
            struct bucket_plan plan;
            model_plan(&model, widths, layers, bias);
            bucket_plan_make(&plan, &model, caps[i / 9], caps[i % 9]);
            check_plan(&model, &plan, caps[i / 9], caps[i % 9]);
        }
}
END_TEST

Suite *bucket_suite(void)
{
    Suite *suite = suite_create("bucket");
    TCase *tcase = tcase_create("plan");
    tcase_add_loop_test(tcase, a_plan_is_the_hand_worked_one, 0, ROWS);
    tcase_add_loop_test(tcase, buckets_tile_the_slab_and_hold_their_tensors_whole, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
