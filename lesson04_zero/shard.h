/*
 * shard: who owns what.
 *
 * Rank r owns chunk r (slice_of) of each bucket: the part of which lesson 2's reduce-scatter leaves it the
 * sum. A count that does not divide is the normal case, and a rank may own nothing of a bucket.
 *
 *     slab         |      bucket 1       |    bucket 0    |
 *     chunks       |  0   |  1   |  2    |  0  |  1 |  2  |
 *     of rank 1            own                  own
 *     packed       | own | own |          one after another, in the slab's order
 *
 * What is kept of owned elements alone, such as the optimizer's state, is packed.
 */
#ifndef LESSON04_SHARD_H
#define LESSON04_SHARD_H

#include "common/slice.h"
#include "lesson02_allreduce/comm.h"
#include "lesson03_ddp/bucket.h"

struct shard {
    const struct bucket_plan *plan;
    size_t world, rank;
    struct slice owned[MODEL_TENSORS_MOST]; // of the slab, ascending; one for each bucket
    size_t owned_count;
    size_t count;                     // owned elements
    size_t first[MODEL_TENSORS_MOST]; // of each bucket's own chunk, in packed arrays
};

/* The plan's buckets descend in the slab (bucket_order_reverse); it must outlive the shard. */
void shard_plan(struct shard *shard, const struct bucket_plan *plan, size_t world, size_t rank);

/* This rank's chunk of a bucket, counted from the bucket's beginning. */
struct slice shard_chunk(const struct shard *shard, size_t bucket);

/* A bucket's values (its count): each rank's own chunk to all. 0 or the communicator's error. */
int shard_gather_bucket(const struct shard *shard, struct comm *comm, size_t bucket, float *values);

/* The same for all buckets of a slab. */
int shard_gather(const struct shard *shard, struct comm *comm, float *slab);

#endif
