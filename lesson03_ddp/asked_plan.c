/* asked_plan: --explain, as lessons 3 and 4 answer it. See the header. */
#include "lesson03_ddp/asked_plan.h"
#include "lesson02_allreduce/meet.h"
#include "lesson03_ddp/explain_buckets.h"
#include "lesson03_ddp/rehearsal.h"

static void make(struct bucket_plan *plan, const struct explain_buckets *explain,
                 const struct bucket_order *order)
{
    bucket_plan_make(plan, explain->model, order, explain->first_bytes, explain->bytes);
}

static void explain_rebuild(const struct run *run, const struct explain_buckets *explain,
                            const struct bucket_plan *first)
{
    struct bucket_plan rebuilt;
    struct bucket_order order = rehearsal(run, &first->order);
    make(&rebuilt, explain, &order);
    if (run->options.lesson >= 4) {
        printf("\nThis plan is kept: the optimizer's shards are chunks of these buckets.\n");
    } else if (bucket_plan_same(first, &rebuilt)) {
        printf("\nBackward will fill these buckets in this order: after the first step a rebuild "
               "changes nothing.\n");
    } else {
        printf("\nBackward will finish tensors in another order. After the first step buckets are "
               "rebuilt:\n\n");
        explain_buckets(stdout, explain, &rebuilt);
    }
}

int asked_plan(struct run *run)
{
    const struct options *options = &run->options;
    struct explain_buckets explain = {
        .model = &run->model,
        .first_bytes = options->first_bucket_bytes,
        .bytes = options->bucket_bytes,
        .world = run->environment.world,
        .halves = options->lesson >= 4,
    };
    if (run->environment.rank != 0)
        return 0;
    int error = meet_choice(run, &explain.choice);
    if (error)
        return error;
    if (options->compress == COMPRESS_BF16) {
        explain.choice = choice_fixed(ALGORITHM_DIRECT); // compress.h
        explain.halves = true;
    }
    struct bucket_plan plan;
    struct bucket_order order = bucket_order_reverse(&run->model);
    make(&plan, &explain, &order);
    printf("the gradient of %zu parameters in %zu bucket%s, filled from the last tensor registered "
           "to the first\n\n",
           run->model.count, plan.count, plan.count == 1 ? "" : "s");
    explain_buckets(stdout, &explain, &plan);
    printf("\nA bucket is sent once its last tensor is ready and the bucket before it is done.\n");
    explain_rebuild(run, &explain, &plan);
    return 0;
}
