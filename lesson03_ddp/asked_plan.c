/* asked_plan: --explain, as lessons 3 and 4 answer it. See the header. */
#include "lesson03_ddp/asked_plan.h"
#include "lesson02_allreduce/meet.h"
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
    if (run->options.lesson >= 4) {
        printf("\nThis plan is kept: the optimizer's shards are chunks of these buckets.\n");
        return;
    }
    struct bucket_order order = rehearsal(run, &first->order);
    make(&rebuilt, explain, &order);
    if (bucket_plan_same(first, &rebuilt)) {
        printf("\nBackward will fill these buckets in this order: after the first step a rebuild "
               "changes nothing.\n");
    } else {
        printf("\nBackward will finish tensors in another order. After the first step buckets are "
               "rebuilt:\n\n");
        explain_buckets(stdout, explain, &rebuilt);
    }
}

int asked_plan_make(struct asked_plan *asked, struct run *run)
{
    const struct options *options = &run->options;
    struct bucket_order order = bucket_order_reverse(&run->model);
    asked->explain = (struct explain_buckets){
        .model = &run->model,
        .first_bytes = options->first_bucket_bytes,
        .bytes = options->bucket_bytes,
        .world = run->environment.world,
        .halves = options->lesson >= 4,
    };
    int error = meet_choice(run, &asked->explain.choice);
    if (error)
        return error;
    if (options->compress == COMPRESS_BF16) {
        asked->explain.choice = choice_fixed(ALGORITHM_DIRECT); // compress.h
        asked->explain.halves = true;
    }
    make(&asked->plan, &asked->explain, &order);
    return 0;
}

void asked_plan_show(const struct asked_plan *asked, const struct run *run)
{
    const struct bucket_plan *plan = &asked->plan;
    size_t elements = 0; // without those of frozen tensors
    for (size_t i = 0; i < plan->count; i++)
        elements += plan->buckets[i].slice.count;
    printf("the gradient of %zu parameters in %zu bucket%s, filled from the last tensor registered "
           "to the first\n\n",
           elements, plan->count, plan->count == 1 ? "" : "s");
    explain_buckets(stdout, &asked->explain, plan);
    if (run->options.compress == COMPRESS_BF16)
        printf("\nA number is 4 bytes in a bucket, and 2 on its way: half of these KiB travel.\n");
    printf("\nA bucket is sent once its last tensor is ready and the bucket before it is done.\n");
    explain_rebuild(run, &asked->explain, plan);
}

int asked_plan(struct run *run)
{
    struct asked_plan asked;
    if (run->environment.rank != 0)
        return 0;
    int error = asked_plan_make(&asked, run);
    if (!error)
        asked_plan_show(&asked, run);
    return error;
}
