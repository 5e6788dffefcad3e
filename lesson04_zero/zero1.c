/* zero1: every rank keeps the optimizer's state for its shard only. See the header. */
#include "lesson04_zero/zero1.h"
#include "common/clock.h"
#include "lesson01_single/norm.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/gather.h"

#include <math.h>

static int reduce_bucket(struct ddp *ddp, struct slice bucket)
{
    if (ddp->compresses)
        return compress_reduce_scatter(&ddp->compress, ddp->comm, ddp->grad, bucket);
    return reduce_scatter(ddp->comm, ddp->grad + bucket.begin, bucket.count, COMM_F32, COMM_SUM);
}

/* Buckets are counted from the end of the slab; owned slices ascend. */
static void plan_shards(struct zero1 *zero, size_t world, size_t rank)
{
    const struct bucket_plan *plan = &zero->ddp.plan;
    for (size_t i = plan->count; i-- > 0;) {
        struct slice bucket = plan->buckets[i].slice;
        struct slice chunk = slice_of(bucket.count, world, rank);
        chunk.begin += bucket.begin;
        zero->owned[zero->owned_count++] = chunk;
    }
}

int zero1_init(struct zero1 *zero, struct run *run, struct comm *comm)
{
    *zero = (struct zero1){.grad = run->grad, .optimizer = &run->optimizer};
    zero->ddp = (struct ddp){.grad = run->grad, .reduce = reduce_bucket, .trace = run->trace};
    int error = ddp_init_over(&zero->ddp, run, comm, &run->memory);
    run->trainer.listener = ddp_listener(&zero->ddp);
    plan_shards(zero, (size_t)comm_world(comm), (size_t)comm_rank(comm));
    run->gather_state = zero1_gather_state;
    run->state_context = zero;
    return error;
}

void zero1_stop(struct zero1 *zero)
{
    ddp_stop(&zero->ddp);
}

static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b; // a NaN stays: it must be seen
}

/* The largest |element| that any rank owns. */
static int largest_of_all(const struct zero1 *zero, double *largest, struct fail *fail)
{
    double mine = 0, all[ENVIRONMENT_WORLD_MOST];
    for (size_t i = 0; i < zero->owned_count; i++) {
        struct slice owned = zero->owned[i];
        mine = larger(mine, (double)norm_largest(zero->grad + owned.begin, owned.count));
    }
    int error = gather_numbers(zero->ddp.comm, &mine, 1, all, fail);
    *largest = 0;
    for (int rank = 0; rank < comm_world(zero->ddp.comm) && !error; rank++)
        *largest = larger(*largest, all[rank]);
    return error;
}

/* All ranks' sums, added. They are exact, so the order does not matter. */
static int sums_of_all(const struct zero1 *zero, struct norm *norm, struct fail *fail)
{
    double all[2 * ENVIRONMENT_WORLD_MOST];
    for (size_t i = 0; i < zero->owned_count; i++)
        norm_add(norm, zero->grad + zero->owned[i].begin, zero->owned[i].count);
    int error = gather_numbers(zero->ddp.comm, norm->sum, 2, all, fail);
    norm->sum[0] = norm->sum[1] = 0;
    for (int rank = 0; rank < comm_world(zero->ddp.comm) && !error; rank++) {
        norm->sum[0] += all[2 * rank];
        norm->sum[1] += all[2 * rank + 1];
    }
    return error;
}

int zero1_norm(const struct zero1 *zero, struct run *run, double *norm)
{
    double largest;
    *norm = NAN;
    if (!run_wants_norm(run))
        return 0;
    int error = largest_of_all(zero, &largest, &run->fail);
    if (error)
        return error;
    struct norm sums = norm_grid((float)largest, run->model.count);
    error = sums_of_all(zero, &sums, &run->fail);
    *norm = norm_value(&sums);
    return error;
}

static int gather_bucket(const struct zero1 *zero, size_t index, float *slab)
{
    struct slice bucket = zero->ddp.plan.buckets[index].slice;
    comm_tag(zero->ddp.comm, (uint32_t)index);
    return all_gather(zero->ddp.comm, slab + bucket.begin, bucket.count, COMM_F32);
}

int zero1_gather(const struct zero1 *zero, float *slab)
{
    int error = 0;
    for (size_t i = 0; i < zero->ddp.plan.count && !error; i++)
        error = gather_bucket(zero, i, slab);
    comm_tag(zero->ddp.comm, 0);
    return error;
}

int zero1_share_parameters(struct zero1 *zero, struct run *run)
{
    double began = clock_seconds();
    int error = 0;
    for (size_t i = 0; i < zero->ddp.plan.count && !error; i++) {
        double bucket_began = trace_begin(zero->ddp.trace);
        error = gather_bucket(zero, i, run->param);
        ddp_record(&zero->ddp, TRACE_GATHER, i, bucket_began);
    }
    comm_tag(zero->ddp.comm, 0);
    zero->gather_seconds = clock_seconds() - began;
    run->exposed_seconds += zero->gather_seconds; // nothing is computed meanwhile
    trace_end(run->trace, TRACE_WAIT, 0, began);
    profile_lap(run->profile, PROFILE_WAIT);
    return error;
}

void zero1_account(const struct zero1 *zero, struct run *run)
{
    ddp_account(&zero->ddp, run);
    run->comm_seconds += zero->gather_seconds;
}

/* The slab of gradients is free between an update and the next backward. */
int zero1_gather_state(void *context, size_t index, const float **whole, struct fail *fail)
{
    struct zero1 *zero = context;
    struct slice part = {0};
    *whole = zero->grad;
    for (size_t i = 0; i < zero->owned_count; i++) {
        struct slice owned = zero->owned[i];
        part.count = owned.count;
        int error = optimizer_read(zero->optimizer, index, part, zero->grad + owned.begin, fail);
        if (error) {
            comm_stop(zero->ddp.comm, fail); // the others wait for this rank's part
            return error;
        }
        part.begin += owned.count;
    }
    int error = zero1_gather(zero, zero->grad);
    return error ? fail_set(fail, error, "%s", comm_fail(zero->ddp.comm)->text) : 0;
}
