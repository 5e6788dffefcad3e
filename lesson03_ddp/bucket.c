/* bucket: which gradients travel together. See the header. */
#include "lesson03_ddp/bucket.h"

static void open_bucket(struct bucket_plan *plan)
{
    plan->buckets[plan->count++] = (struct bucket){0};
}

void bucket_plan_make(struct bucket_plan *plan, const struct model *model, size_t first_bytes,
                      size_t bytes)
{
    plan->count = 0;
    open_bucket(plan);
    for (size_t i = model->tensor_count; i-- > 0;) {
        struct slice tensor = model->tensors[i].slice;
        struct bucket *bucket = &plan->buckets[plan->count - 1];
        size_t cap = plan->count == 1 ? first_bytes : bytes;
        size_t filled_bytes = (bucket->slice.count + tensor.count) * sizeof(float);
        if (bucket->tensors > 0 && filled_bytes > cap) {
            open_bucket(plan);
            bucket++;
        }
        bucket->slice.begin = tensor.begin;
        bucket->slice.count += tensor.count;
        bucket->tensors++;
        plan->of_tensor[i] = plan->count - 1;
    }
}
