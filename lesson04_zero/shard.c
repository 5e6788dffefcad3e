/* shard: who owns what. See the header. */
#include "lesson04_zero/shard.h"
#include "lesson02_allreduce/allreduce.h"

struct slice shard_chunk(const struct shard *shard, size_t bucket)
{
    // task 04.1 {
    return slice_of(shard->plan->buckets[bucket].slice.count, shard->world, shard->rank);
    // } 04.1
}

/* Buckets are counted from the end of the slab; owned slices ascend. */
void shard_plan(struct shard *shard, const struct bucket_plan *plan, size_t world, size_t rank)
{
    // task 04.1 {
    *shard = (struct shard){.plan = plan, .world = world, .rank = rank};
    for (size_t i = plan->count; i-- > 0;) {
        struct slice chunk = shard_chunk(shard, i);
        chunk.begin += plan->buckets[i].slice.begin;
        shard->owned[shard->owned_count++] = chunk;
        shard->first[i] = shard->count;
        shard->count += chunk.count;
    }
    // } 04.1
}

int shard_gather_bucket(const struct shard *shard, struct comm *comm, size_t bucket, float *values)
{
    comm_tag(comm, (uint32_t)bucket);
    return all_gather(comm, values, shard->plan->buckets[bucket].slice.count, COMM_F32);
}

int shard_gather(const struct shard *shard, struct comm *comm, float *slab)
{
    int error = 0;
    for (size_t i = 0; i < shard->plan->count && !error; i++)
        error = shard_gather_bucket(shard, comm, i, slab + shard->plan->buckets[i].slice.begin);
    comm_tag(comm, 0);
    return error;
}
