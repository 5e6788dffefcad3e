/* Bucket plans, worked by hand: the last tensors first, no bucket but a single tensor's too big. */
#include "lesson03_ddp/bucket.h"
#include "common/rng.h"
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
    struct bucket_order order = bucket_order_reverse(&model);
    bucket_plan_make(&plan, &model, &order, row->first_bytes, row->bytes);
    size_t count = 0;
    while (count < BUCKETS_MOST && row->tensors[count] > 0)
        count++;
    for (size_t i = 0; i < plan.count && i < count; i++)
        ck_assert_msg(plan.buckets[i].tensors == row->tensors[i],
                      "%s (caps of %zu and %zu bytes): bucket %zu: expected %zu tensors, found %zu",
                      row->why, row->first_bytes, row->bytes, i, row->tensors[i],
                      plan.buckets[i].tensors);
    ck_assert_msg(plan.count == count,
                  "%s (caps of %zu and %zu bytes): expected %zu buckets, found %zu", row->why,
                  row->first_bytes, row->bytes, count, plan.count);
}
END_TEST

static void check_within(const struct model *model, const struct bucket_plan *plan, size_t index)
{
    const struct tensor *tensor = &model->tensors[index];
    size_t of = plan->of_tensor[index];
    ck_assert_msg(of < plan->count, "%s: expected one of %zu buckets, found of_tensor %zu",
                  tensor->name, plan->count, of);
    struct slice bucket = plan->buckets[of].slice;
    ck_assert_msg(slice_overlap(tensor->slice, bucket).count == tensor->slice.count,
                  "%s: expected its floats %zu to %zu within bucket %zu, found that of %zu to %zu",
                  tensor->name, tensor->slice.begin, tensor->slice.begin + tensor->slice.count, of,
                  bucket.begin, bucket.begin + bucket.count);
}

/* Whatever the caps, on the deepest model too. */
static void check_plan(const struct model *model, const struct bucket_plan *plan, size_t first,
                       size_t bytes)
{
    size_t end = model->count, tensors = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct bucket *bucket = &plan->buckets[i];
        size_t cap = i == 0 ? first : bytes, own = bucket->slice.count * sizeof(float);
        ck_assert_msg(bucket->tensors > 0, "bucket %zu: expected a tensor in it, found none", i);
        ck_assert_msg(bucket->slice.begin + bucket->slice.count == end, // from the end down
                      "bucket %zu: expected it to end at float %zu, found floats %zu to %zu", i,
                      end, bucket->slice.begin, bucket->slice.begin + bucket->slice.count);
        ck_assert_msg(bucket->tensors == 1 || own <= cap,
                      "bucket %zu, of %zu tensors: expected at most its cap, %zu bytes, found %zu",
                      i, bucket->tensors, cap, own);
        end = bucket->slice.begin;
        tensors += bucket->tensors;
    }
    ck_assert_msg(end == 0 && tensors == model->tensor_count,
                  "expected %zu tensors, down to float 0, found %zu, down to float %zu",
                  model->tensor_count, tensors, end);
    for (size_t i = 0; i < model->tensor_count; i++)
        check_within(model, plan, i);
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
            struct bucket_order order = bucket_order_reverse(&model);
            bucket_plan_make(&plan, &model, &order, caps[i / 9], caps[i % 9]);
            check_plan(&model, &plan, caps[i / 9], caps[i % 9]);
        }
}
END_TEST

/* --- other orders ---------------------------------------------------------------------------- */

/* Ends in NONE. */
enum { NONE = MODEL_TENSORS_MOST };
struct order_row {
    const char *why;
    size_t order[BUCKETS_MOST + 1];
    size_t layers; // 2: 3-4-2 as above; 4: 2-2-2-2-2, weights of 4, biases of 2
    size_t first_bytes, bytes;
    struct bucket buckets[BUCKETS_MOST]; // {begin, count}, tensors
};

/* Tensors 0 to 3 are floats 0-11, 12-15, 16-23, 24-25. */
static const struct order_row order_rows[] = {
    {"registration's own", {0, 1, 2, 3, NONE}, 2, 999, 999, {{{0, 26}, 4}}},
    {"and two buckets", {0, 1, 2, 3, NONE}, 2, 64, 40, {{{0, 16}, 2}, {{16, 10}, 2}}},
    {"one comes too late", {3, 1, 2, 0, NONE}, 2, 999, 999, {{{24, 2}, 1}, {{0, 24}, 3}}},
    {"it grows on both sides", {0, 2, 1, 3, NONE}, 2, 999, 56, {{{0, 12}, 1}, {{12, 14}, 3}}},
    {"on both, a byte too small",
     {0, 2, 1, 3, NONE},
     2,
     999,
     55,
     {{{0, 12}, 1}, {{12, 12}, 2}, {{24, 2}, 1}}},
    {"a neighbour of a closed bucket",
     {0, 3, 1, 2, NONE},
     2,
     999,
     999,
     {{{0, 12}, 1}, {{24, 2}, 1}, {{12, 12}, 2}}},
    {"no two are neighbours",
     {0, 2, 4, 6, 1, 3, 5, 7, NONE},
     4,
     999,
     999,
     {{{0, 4}, 1},
      {{6, 4}, 1},
      {{12, 4}, 1},
      {{18, 4}, 1},
      {{4, 2}, 1},
      {{10, 2}, 1},
      {{16, 2}, 1},
      {{22, 2}, 1}}},
    {"a weight after the layer below",
     {7, 5, 6, 4, 3, 2, 1, 0, NONE},
     4,
     999,
     40,
     {{{22, 2}, 1}, {{12, 10}, 3}, {{4, 8}, 3}, {{0, 4}, 1}}},
    {"the last layer alone takes part", {3, 2, NONE}, 2, 999, 999, {{{16, 10}, 2}}},
    {"a gap between those that do", {3, 0, NONE}, 2, 999, 999, {{{24, 2}, 1}, {{0, 12}, 1}}},
    {"none takes part", {NONE}, 2, 999, 999, {{{0, 0}, 0}}},
};
enum { ORDER_ROWS = sizeof order_rows / sizeof *order_rows };

static void plan_small(struct model *model, size_t layers)
{
    static const size_t two[] = {3, 4, 2}, four[] = {2, 2, 2, 2, 2};
    model_plan(model, layers == 2 ? two : four, layers, true);
}

/* Who reads the plan finds in it the order that it was made from. */
static void check_kept(const struct bucket_plan *plan, const struct bucket_order *order)
{
    ck_assert_msg(plan->order.count == order->count,
                  "plan->order: expected the order's %zu tensors, found %zu", order->count,
                  plan->order.count);
    for (size_t i = 0; i < order->count; i++)
        ck_assert_msg(plan->order.tensors[i] == order->tensors[i],
                      "plan->order, number %zu: expected tensor %zu, found %zu", i,
                      order->tensors[i], plan->order.tensors[i]);
}

START_TEST(a_plan_of_any_order_is_the_hand_worked_one)
{
    const struct order_row *row = &order_rows[_i];
    struct bucket_order order = {0};
    struct model model;
    struct bucket_plan plan;
    while (row->order[order.count] != NONE) {
        order.tensors[order.count] = row->order[order.count];
        order.count++;
    }
    plan_small(&model, row->layers);
    bucket_plan_make(&plan, &model, &order, row->first_bytes, row->bytes);
    size_t count = 0;
    while (count < BUCKETS_MOST && row->buckets[count].tensors > 0)
        count++;
    for (size_t i = 0; i < count && i < plan.count; i++) {
        const struct bucket *found = &plan.buckets[i], *wanted = &row->buckets[i];
        ck_assert_msg(found->slice.begin == wanted->slice.begin &&
                          found->slice.count == wanted->slice.count &&
                          found->tensors == wanted->tensors,
                      "%s: bucket %zu: expected %zu tensors, %zu floats from %zu, found %zu, %zu "
                      "from %zu",
                      row->why, i, wanted->tensors, wanted->slice.count, wanted->slice.begin,
                      found->tensors, found->slice.count, found->slice.begin);
    }
    ck_assert_msg(plan.count == count, "%s: expected %zu buckets, found %zu", row->why, count,
                  plan.count);
    size_t in_none = 0;
    for (size_t i = 0; i < model.tensor_count; i++)
        in_none += plan.of_tensor[i] == BUCKET_NONE;
    ck_assert_msg(in_none == model.tensor_count - order.count,
                  "%s: expected BUCKET_NONE as of_tensor of %zu tensors, found it of %zu", row->why,
                  model.tensor_count - order.count, in_none);
    check_kept(&plan, &order);
}
END_TEST

/* Some of the tensors, in any order (Fisher, Yates, Durstenfeld). */
static struct bucket_order random_order(const struct model *model, uint64_t number)
{
    struct rng rng = {.seed = number, .stream = RNG_TEST};
    struct bucket_order order = bucket_order_reverse(model);
    for (size_t i = order.count; i-- > 1;) {
        size_t other = rng_bits(&rng, i) % (i + 1), kept = order.tensors[i];
        order.tensors[i] = order.tensors[other];
        order.tensors[other] = kept;
    }
    order.count -= number % 3;
    return order;
}

/* The tensors of the order, bucket by bucket, are whole; a bucket is their slice and nothing else;
 * and it was closed because it had to be. */
static void check_order(const struct model *model, const struct bucket_plan *plan,
                        const struct bucket_order *order, const size_t caps[2])
{
    size_t at = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct slice bucket = plan->buckets[i].slice;
        size_t count = 0, cap = caps[i > 0] / sizeof(float);
        for (size_t j = 0; j < plan->buckets[i].tensors; j++, at++) {
            ck_assert_msg(at < order->count, "buckets 0 to %zu hold more than the order's %zu", i,
                          order->count);
            size_t tensor = order->tensors[at], of = plan->of_tensor[tensor];
            ck_assert_msg(of == i, "%s: expected of_tensor %zu, found %zu",
                          model->tensors[tensor].name, i, of);
            check_within(model, plan, tensor);
            count += model->tensors[tensor].slice.count;
        }
        ck_assert_msg(count == bucket.count,
                      "bucket %zu: expected the %zu floats of its tensors, found %zu", i, count,
                      bucket.count);
        ck_assert_msg(plan->buckets[i].tensors == 1 || count <= cap,
                      "bucket %zu, of %zu tensors: expected at most %zu floats, found %zu", i,
                      plan->buckets[i].tensors, cap, count);
        if (at == order->count)
            break;
        const struct tensor *next = &model->tensors[order->tensors[at]];
        bool neighbour = next->slice.begin + next->slice.count == bucket.begin ||
                         bucket.begin + bucket.count == next->slice.begin;
        ck_assert_msg(!neighbour || count + next->slice.count > cap,
                      "bucket %zu, of floats %zu to %zu and at most %zu: expected %s, its "
                      "neighbour of %zu floats, to join it, found it closed",
                      i, bucket.begin, bucket.begin + bucket.count, cap, next->name,
                      next->slice.count);
    }
    ck_assert_msg(at == order->count, "expected the order's %zu tensors in buckets, found %zu",
                  order->count, at);
}

START_TEST(buckets_of_a_random_order_hold_its_tensors_whole_and_no_more)
{
    static const size_t caps[][2] = {{0, 0}, {40, 100}, {4, 400}, {4000, 4000}};
    size_t widths[MODEL_LAYERS_MOST + 1];
    struct model model;
    struct bucket_plan plan;
    for (size_t i = 0; i <= MODEL_LAYERS_MOST; i++)
        widths[i] = 1 + (5 * i) % 7;
    model_plan(&model, widths, MODEL_LAYERS_MOST, true);
    for (uint64_t number = 0; number < 300; number++) {
        struct bucket_order order = random_order(&model, number);
        bucket_plan_make(&plan, &model, &order, caps[_i][0], caps[_i][1]);
        check_order(&model, &plan, &order, caps[_i]);
    }
}
END_TEST

START_TEST(plans_are_the_same_when_their_slices_are)
{
    struct model model;
    struct bucket_plan one, other;
    plan_small(&model, 2);
    struct bucket_order reverse = bucket_order_reverse(&model), swapped = reverse;
    swapped.tensors[0] = 2; // fc2.weight before fc2.bias
    swapped.tensors[1] = 3;
    bucket_plan_make(&one, &model, &reverse, 40, 999);
    bucket_plan_make(&other, &model, &swapped, 40, 999);
    ck_assert(bucket_plan_same(&one, &other)); // within a bucket the order does not show
    bucket_plan_make(&other, &model, &swapped, 8, 999);
    ck_assert(!bucket_plan_same(&one, &other));
    swapped.count = 2;
    bucket_plan_make(&other, &model, &swapped, 40, 999);
    ck_assert(!bucket_plan_same(&one, &other));
}
END_TEST

Suite *bucket_suite(void)
{
    Suite *suite = suite_create("bucket");
    TCase *tcase = tcase_create("plan");
    tcase_add_loop_test(tcase, a_plan_is_the_hand_worked_one, 0, ROWS);
    tcase_add_loop_test(tcase, buckets_tile_the_slab_and_hold_their_tensors_whole, 0, 2);
    tcase_add_loop_test(tcase, a_plan_of_any_order_is_the_hand_worked_one, 0, ORDER_ROWS);
    tcase_add_loop_test(tcase, buckets_of_a_random_order_hold_its_tensors_whole_and_no_more, 0, 4);
    tcase_add_test(tcase, plans_are_the_same_when_their_slices_are);
    suite_add_tcase(suite, tcase);
    return suite;
}
