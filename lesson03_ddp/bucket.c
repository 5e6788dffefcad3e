/* bucket: which gradients travel together. See the header. */
#include "lesson03_ddp/bucket.h"

struct bucket_order bucket_order_reverse(const struct model *model)
{
    struct bucket_order order = {0};
    for (size_t i = model->tensor_count; i-- > 0;)
        if (!model->tensors[i].frozen)
            order.tensors[order.count++] = i;
    return order;
}

static bool neighbours(struct slice a, struct slice b)
{
    return a.begin + a.count == b.begin || b.begin + b.count == a.begin;
}

/* Does the tensor join the open bucket, the plan's last? With no bucket yet it joins none. */
static bool joins(const struct bucket_plan *plan, struct slice tensor, size_t cap_bytes)
{
    // task 03.1 {
    if (plan->count == 0)
        return false;
    struct slice open = plan->buckets[plan->count - 1].slice;
    return neighbours(open, tensor) && (open.count + tensor.count) * sizeof(float) <= cap_bytes;
    // } 03.1
}

void bucket_plan_make(struct bucket_plan *plan, const struct model *model,
                      const struct bucket_order *order, size_t first_bytes, size_t bytes)
{
    // task 03.1 {
    plan->order = *order;
    plan->count = 0;
    for (size_t i = 0; i < model->tensor_count; i++)
        plan->of_tensor[i] = BUCKET_NONE;
    for (size_t i = 0; i < order->count; i++) {
        struct slice tensor = model->tensors[order->tensors[i]].slice;
        if (!joins(plan, tensor, plan->count == 1 ? first_bytes : bytes))
            plan->buckets[plan->count++] = (struct bucket){.slice = {.begin = tensor.begin}};
        struct bucket *bucket = &plan->buckets[plan->count - 1];
        if (tensor.begin < bucket->slice.begin)
            bucket->slice.begin = tensor.begin;
        bucket->slice.count += tensor.count;
        bucket->tensors++;
        plan->of_tensor[order->tensors[i]] = plan->count - 1;
    }
    // } 03.1
}

bool bucket_plan_same(const struct bucket_plan *a, const struct bucket_plan *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = a->buckets[i].slice.begin == b->buckets[i].slice.begin &&
               a->buckets[i].slice.count == b->buckets[i].slice.count;
    return same;
}
