/*
 * check_bucket: is the plan one that every rank can send by? See lesson03.h.
 *
 * Three questions of their own: do buckets tile the slab (with any caps), do they close where they are full (their
 * slices not looked at), and what becomes of orders that jump (under caps that never matter).
 */
#include "tests/grade/lesson03.h"
#include "tests/grade/drawn.h"

enum { MODELS = 60, LAYERS = 6, HUGE_BYTES = 1 << 20, SOME_BYTES = 600 };

static struct bucket_plan plan_of(const struct model *model, const struct bucket_order *order,
                                  size_t first_bytes, size_t bytes)
{
    struct bucket_plan plan = {0};
    bucket_plan_make(&plan, model, order, first_bytes, bytes);
    return plan;
}

/* The tensors of each bucket, walked in the order of sending, against what the bucket says. */
static int check_slices(struct grade *grade, const struct model *model,
                        const struct bucket_plan *plan)
{
    size_t end = model->count, tensors = 0;
    for (size_t i = 0; i < plan->count && i < MODEL_TENSORS_MOST; i++) {
        struct slice slice = plan->buckets[i].slice;
        if (slice.begin + slice.count != end || slice.count == 0)
            return grade_expect(grade, false,
                                "bucket %zu: expected it to end at element %zu, where the one "
                                "before begins; found elements %zu to %zu",
                                i, end, slice.begin, slice.begin + slice.count);
        end = slice.begin;
        tensors += plan->buckets[i].tensors;
    }
    return grade_expect(grade, end == 0 && tensors == model->tensor_count,
                        "expected %zu tensors, down to element 0; found %zu, down to element %zu",
                        model->tensor_count, tensors, end);
}

static int check_tensors(struct grade *grade, const struct model *model,
                         const struct bucket_plan *plan)
{
    int wrong = 0;
    for (size_t i = 0; i < model->tensor_count && !wrong; i++) {
        size_t bucket = plan->of_tensor[i];
        struct slice tensor = model->tensors[i].slice;
        wrong = grade_expect(
            grade,
            bucket < plan->count &&
                slice_overlap(tensor, plan->buckets[bucket].slice).count == tensor.count,
            "%s: expected to lie within the bucket that of_tensor names, found bucket %zu of %zu",
            model->tensors[i].name, bucket, plan->count);
    }
    return wrong;
}

int bucket_tiles(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct model model = drawn_model(grade, LAYERS);
        struct bucket_order order = bucket_order_reverse(&model);
        size_t first = grade_draw(grade, 0, SOME_BYTES), bytes = grade_draw(grade, 0, SOME_BYTES);
        struct bucket_plan plan = plan_of(&model, &order, first, bytes);
        wrong = check_slices(grade, &model, &plan) || check_tensors(grade, &model, &plan);
    }
    return wrong;
}

/* Which bucket each tensor goes into, by the rule alone. */
static int check_caps(struct grade *grade, const struct model *model, size_t first, size_t bytes)
{
    struct bucket_order order = bucket_order_reverse(model);
    struct bucket_plan plan = plan_of(model, &order, first, bytes);
    size_t bucket = 0, filled = 0;
    int wrong = 0;
    for (size_t i = 0; i < order.count && !wrong; i++) {
        size_t tensor = order.tensors[i], own = model->tensors[tensor].slice.count * sizeof(float);
        if (i > 0 && filled + own > (bucket == 0 ? first : bytes)) {
            bucket++;
            filled = 0;
        }
        filled += own;
        wrong = grade_expect(grade, plan.of_tensor[tensor] == bucket,
                             "caps of %zu and %zu bytes: %s, with which it would hold %zu bytes: "
                             "expected bucket %zu, found %zu",
                             first, bytes, model->tensors[tensor].name, filled, bucket,
                             plan.of_tensor[tensor]);
    }
    return wrong || grade_expect(grade, plan.count == bucket + 1,
                                 "caps of %zu and %zu bytes: expected %zu buckets, found %zu",
                                 first, bytes, bucket + 1, plan.count);
}

int bucket_caps(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct model model = drawn_model(grade, LAYERS);
        size_t last = model.tensors[model.tensor_count - 1].slice.count * sizeof(float);
        size_t two = last + model.tensors[model.tensor_count - 2].slice.count * sizeof(float);
        size_t first = grade_draw(grade, 0, SOME_BYTES), bytes = grade_draw(grade, 0, SOME_BYTES);
        wrong = check_caps(grade, &model, first, bytes) || check_caps(grade, &model, 0, bytes) ||
                check_caps(grade, &model, last, HUGE_BYTES) ||
                check_caps(grade, &model, two, bytes) || // two tensors fill it exactly
                check_caps(grade, &model, HUGE_BYTES, 0);
    }
    return wrong;
}

/* The buckets that an order makes where nothing is ever full: each grows on either side. */
static size_t grow(const struct model *model, const struct bucket_order *order,
                   struct bucket *buckets)
{
    size_t count = 0;
    for (size_t i = 0; i < order->count; i++) {
        struct slice next = model->tensors[order->tensors[i]].slice;
        struct slice *open = count ? &buckets[count - 1].slice : NULL;
        bool above = open && open->begin + open->count == next.begin;
        bool below = open && next.begin + next.count == open->begin;
        if (!above && !below) {
            buckets[count++] = (struct bucket){.slice = next, .tensors = 1};
            continue;
        }
        open->begin = below ? next.begin : open->begin;
        open->count += next.count;
        buckets[count - 1].tensors++;
    }
    return count;
}

/* Who reads a plan finds in it the order that it was made from. */
static int check_kept(struct grade *grade, const struct bucket_order *found,
                      const struct bucket_order *order)
{
    int wrong = grade_expect(grade, found->count == order->count,
                             "plan->order: expected the order's %zu tensors, found %zu",
                             order->count, found->count);
    for (size_t i = 0; i < order->count && !wrong; i++)
        wrong = grade_expect(grade, found->tensors[i] == order->tensors[i],
                             "plan->order, number %zu: expected tensor %zu, found %zu", i,
                             order->tensors[i], found->tensors[i]);
    return wrong;
}

static int check_order(struct grade *grade, const struct model *model,
                       const struct bucket_order *order)
{
    struct bucket expected[MODEL_TENSORS_MOST];
    struct bucket_plan plan = plan_of(model, order, HUGE_BYTES, HUGE_BYTES);
    size_t count = grow(model, order, expected), outside = 0;
    int wrong = 0;
    for (size_t i = 0; i < count && i < plan.count && !wrong; i++) {
        const struct bucket *found = &plan.buckets[i], *is = &expected[i];
        wrong = grade_expect(
            grade,
            found->slice.begin == is->slice.begin && found->slice.count == is->slice.count &&
                found->tensors == is->tensors,
            "an order that jumps, bucket %zu: expected %zu tensors, %zu elements from %zu; found "
            "%zu, %zu from %zu",
            i, is->tensors, is->slice.count, is->slice.begin, found->tensors, found->slice.count,
            found->slice.begin);
    }
    for (size_t i = 0; i < model->tensor_count; i++)
        outside += plan.of_tensor[i] == BUCKET_NONE;
    return wrong ||
           grade_expect(grade, plan.count == count,
                        "an order that jumps, of %zu tensors: expected %zu buckets, found %zu",
                        order->count, count, plan.count) ||
           grade_expect(grade, outside == model->tensor_count - order->count,
                        "an order of %zu of %zu tensors: expected %zu whose of_tensor is "
                        "BUCKET_NONE, found %zu",
                        order->count, model->tensor_count, model->tensor_count - order->count,
                        outside) ||
           check_kept(grade, &plan.order, order);
}

int bucket_orders(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct model model = drawn_model(grade, LAYERS);
        struct bucket_order order = drawn_order(grade, &model), none = {0};
        wrong = check_order(grade, &model, &order);
        order.count = grade_draw(grade, 0, order.count);
        wrong = wrong || check_order(grade, &model, &order) || check_order(grade, &model, &none);
    }
    return wrong;
}
