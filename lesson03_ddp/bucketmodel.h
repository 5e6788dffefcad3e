/*
 * bucketmodel: how long a step should take, from when gradients become ready and what a bucket costs.
 *
 * Bucket i begins when its last tensor is ready and bucket i - 1 is done:
 *
 *     ready     0   1       2           backward ends
 *     bucket    [ 0 ]   [ 1 ]   [   2   ]
 *                                  |----|  exposed: what the step waits for
 *
 * Small buckets start early and pay the latency often, large ones the other way round. Where that is
 * best has a closed form when the network is the slower one, so that it never idles once begun. With
 * n bytes of gradient in buckets of b, backward making a byte in c seconds, and a bucket costing a
 * whatever its size, the network begins after b c and works for n beta + (n / b) a:
 *
 *     T(b) = b c + n beta + n a / b        T'(b) = 0        b = sqrt(n a / c)
 *
 * as if tensors were cut where one likes. With the time of backward for n c this is n sqrt(a / time):
 * a tenth of the gradient where a latency is a hundredth of backward.
 */
#ifndef LESSON03_BUCKETMODEL_H
#define LESSON03_BUCKETMODEL_H

#include "lesson02_allreduce/choice.h"
#include "lesson02_allreduce/costmodel.h"
#include "lesson03_ddp/bucket.h"

struct bucketmodel {
    const double *ready_seconds; // (tensors), from the step's begin: when each gradient was final
    double backward_seconds;     // when backward ended
    bool overlap;                // false: buckets begin when backward has ended
    struct cost_link link;
    struct choice choice; // of the algorithm, by size
    int world;
};

struct bucketmodel_times {
    double comm_seconds;    // all buckets, one after another
    double exposed_seconds; // from the end of backward until the last one is done
};

/* When the last of `count` pieces of work is done: each begins when it is ready and the one before
 * it is done. 0 for none. */
double bucketmodel_pipeline(const double *ready_seconds, const double *takes_seconds, size_t count);

struct bucketmodel_times bucketmodel_predict(const struct bucketmodel *model,
                                             const struct bucket_plan *plan);

/* sqrt(n a / c), in bytes, with `bucket_seconds` for a and `backward_seconds` for n c. */
double bucketmodel_best_bytes(double bytes, double bucket_seconds, double backward_seconds);

#endif
