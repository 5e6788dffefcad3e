/* zero_norm: the norm of a gradient of which each rank holds a part. See zero.h and norm.h. */
#include "lesson01_single/norm.h"
#include "lesson02_allreduce/gather.h"
#include "lesson04_zero/zero.h"

#include <math.h>

/* Of the owned slices, this one's sums. `passed`: elements owned before it. */
static const float *owned_grad(const struct zero *zero, size_t index, size_t passed)
{
    const struct run *run = zero->run;
    return run->grad + optimizer_grad_at(&run->optimizer, zero->shard.owned[index].begin, passed);
}

static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b; // a NaN stays: it must be seen
}

/* The largest |element| that any rank owns. */
static int largest_of_all(const struct zero *zero, double *largest)
{
    // task 04.3 {
    double mine = 0, all[ENVIRONMENT_WORLD_MOST];
    size_t passed = 0;
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        size_t count = zero->shard.owned[i].count;
        mine = larger(mine, (double)norm_largest(owned_grad(zero, i, passed), count));
        passed += count;
    }
    int error = gather_numbers(zero->ddp.comm, &mine, 1, all, &zero->run->fail);
    *largest = 0;
    for (int rank = 0; rank < comm_world(zero->ddp.comm) && !error; rank++)
        *largest = larger(*largest, all[rank]);
    return error;
    // } 04.3
}

/* All ranks' sums, added. They are exact, so the order does not matter. */
static int sums_of_all(const struct zero *zero, struct norm *norm)
{
    // task 04.3 {
    double all[2 * ENVIRONMENT_WORLD_MOST];
    size_t passed = 0;
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        size_t count = zero->shard.owned[i].count;
        norm_add(norm, owned_grad(zero, i, passed), count);
        passed += count;
    }
    int error = gather_numbers(zero->ddp.comm, norm->sum, 2, all, &zero->run->fail);
    norm->sum[0] = norm->sum[1] = 0;
    for (int rank = 0; rank < comm_world(zero->ddp.comm) && !error; rank++) {
        norm->sum[0] += all[2 * rank];
        norm->sum[1] += all[2 * rank + 1];
    }
    return error;
    // } 04.3
}

int zero_norm(const struct zero *zero, double *norm)
{
    double largest;
    *norm = NAN;
    if (!run_wants_norm(zero->run))
        return 0;
    int error = largest_of_all(zero, &largest);
    if (error)
        return error;
    struct norm sums = norm_grid((float)largest, zero->run->model.count);
    error = sums_of_all(zero, &sums);
    mistakes_norm(zero->run->trainer.mistakes, &zero->run->optimizer, zero->run->grad, &sums);
    *norm = norm_value(&sums);
    return error;
}
