/* bucketmodel: how long a step should take. See the header. */
#include "lesson03_ddp/bucketmodel.h"

#include <math.h>

double bucketmodel_pipeline(const double *ready_seconds, const double *takes_seconds, size_t count)
{
    double done = 0;
    for (size_t i = 0; i < count; i++)
        done = fmax(done, ready_seconds[i]) + takes_seconds[i];
    return done;
}

/* When the last of a bucket's tensors is ready. */
static double ready_of(const struct bucketmodel *model, const struct bucket_plan *plan,
                       size_t bucket)
{
    double ready = 0;
    for (size_t i = 0; i < plan->order.count; i++) {
        size_t tensor = plan->order.tensors[i];
        if (plan->of_tensor[tensor] == bucket)
            ready = fmax(ready, model->ready_seconds[tensor]);
    }
    return model->overlap ? ready : model->backward_seconds;
}

struct bucketmodel_times bucketmodel_predict(const struct bucketmodel *model,
                                             const struct bucket_plan *plan)
{
    double ready[MODEL_TENSORS_MOST], takes[MODEL_TENSORS_MOST];
    struct bucketmodel_times times = {0};
    for (size_t i = 0; i < plan->count; i++) {
        size_t bytes = plan->buckets[i].slice.count * sizeof(float);
        ready[i] = ready_of(model, plan, i);
        takes[i] =
            costmodel_predict(&model->link, choice_for(&model->choice, bytes), model->world, bytes);
        times.comm_seconds += takes[i];
    }
    double done = bucketmodel_pipeline(ready, takes, plan->count);
    times.exposed_seconds = fmax(done - model->backward_seconds, 0);
    return times;
}

double bucketmodel_best_bytes(double bytes, double bucket_seconds, double backward_seconds)
{
    return bytes * sqrt(bucket_seconds / backward_seconds);
}
