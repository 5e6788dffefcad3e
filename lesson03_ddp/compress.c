/* compress: gradients that travel as bf16. See the header. */
#include "lesson03_ddp/compress.h"
#include "common/half.h"
#include "lesson02_allreduce/collective.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

/* Elements worked on at once: they stay in the nearest cache. */
enum { BLOCK = 512 };

/* Two to a float: the ledger counts in those. */
static size_t floats_of(size_t halves)
{
    return (halves + 1) / 2;
}

/* For what all ranks send of this rank's chunk of the longest bucket. */
static size_t heard_count(size_t most, size_t ranks)
{
    return ranks * slice_of(most, ranks, 0).count;
}

size_t compress_memory_bytes(size_t most, int world, size_t count, bool feedback)
{
    size_t heard = heard_count(most, (size_t)world);
    return sizeof(float) * (floats_of(most) + floats_of(heard) + (feedback ? count : 0));
}

int compress_init(struct compress *compress, size_t most, int world, size_t count, bool feedback,
                  struct memory *memory)
{
    *compress = (struct compress){.most = most, .count = count, .memory = memory};
    compress->heard_count = heard_count(most, (size_t)world);
    compress->half = (uint16_t *)memory_floats(memory, MEMORY_BUFFERS, floats_of(most));
    compress->heard =
        (uint16_t *)memory_floats(memory, MEMORY_BUFFERS, floats_of(compress->heard_count));
    if (feedback)
        compress->residual = memory_floats(memory, MEMORY_BUFFERS, count);
    if (compress->half && compress->heard && (!feedback || compress->residual))
        return 0;
    compress_release(compress);
    return -ENOMEM;
}

void compress_release(struct compress *compress)
{
    if (compress->memory) {
        memory_return(compress->memory, MEMORY_BUFFERS, (float *)compress->half,
                      floats_of(compress->most));
        memory_return(compress->memory, MEMORY_BUFFERS, (float *)compress->heard,
                      floats_of(compress->heard_count));
        memory_return(compress->memory, MEMORY_BUFFERS, compress->residual, compress->count);
    }
    *compress = (struct compress){0};
}

static size_t part_from(struct slice slice, size_t begin)
{
    size_t left = slice.begin + slice.count - begin;
    return left < BLOCK ? left : BLOCK;
}

/* e = what rounding x to half took away, on top of `kept` times e; where there is no number to keep
 * e stays as it was. */
static void keep(float *e, float kept, const float *x, const uint16_t *half, size_t count)
{
    float sent[BLOCK];
    half_bf16_unpack(sent, half, count);
    for (size_t i = 0; i < count; i++) {
        float taken = x[i] - sent[i];
        e[i] = isfinite(taken) ? kept * e[i] + taken : e[i];
    }
}

/* half = bf16(g), or with error feedback bf16(g + e), and e = what that took. */
static void pack(const struct compress *compress, float *values, struct slice bucket)
{
    size_t count;
    for (size_t at = bucket.begin; at < bucket.begin + bucket.count; at += count) {
        float *g = values + (at - bucket.begin),
              *e = compress->residual ? compress->residual + at : NULL;
        uint16_t *half = compress->half + (at - bucket.begin);
        count = part_from(bucket, at);
        for (size_t i = 0; i < count && e; i++)
            g[i] += e[i];
        half_bf16_pack(half, g, count);
        if (e)
            keep(e, 0, g, half, count);
    }
}

/* sum (count) = all ranks' parts of this rank's chunk, from element `from` on, in rank order. This
 * rank's own is in `half`. */
static void add_up(const struct compress *compress, const struct collective *all, float *sum,
                   size_t from, size_t count)
{
    struct slice chunk = collective_chunk(all, all->rank);
    for (int rank = 0; rank < all->world; rank++) {
        const uint16_t *part = rank == all->rank ? compress->half + chunk.begin
                                                 : compress->heard + (size_t)rank * chunk.count;
        float value[BLOCK];
        half_bf16_unpack(rank == 0 ? sum : value, part + from, count);
        for (size_t i = 0; i < count && rank > 0; i++)
            sum[i] += value[i];
    }
}

/* Replaces this rank's chunk by the rounded sum. `bucket` is where its bucket lies in the slab. */
static void fold(const struct compress *compress, const struct collective *all, size_t bucket)
{
    struct slice chunk = collective_chunk(all, all->rank), from_0 = {.count = chunk.count};
    size_t count;
    for (size_t at = 0; at < chunk.count; at += count) {
        float sum[BLOCK];
        uint16_t *own = compress->half + chunk.begin + at;
        count = part_from(from_0, at);
        add_up(compress, all, sum, at, count);
        half_bf16_pack(own, sum, count);
        if (compress->residual)
            keep(compress->residual + bucket + chunk.begin + at, 1, sum, own, count);
    }
}

/* Every chunk to the rank that adds it up. The next rank first, so that not all send to rank 0 at
 * once. */
static int scatter(const struct compress *compress, const struct collective *all)
{
    size_t own = collective_chunk(all, all->rank).count;
    for (int hop = 1; hop < all->world; hop++) {
        int to = (all->rank + hop) % all->world, from = (all->rank - hop + all->world) % all->world;
        struct slice chunk = collective_chunk(all, to);
        comm_send(all->comm, to, collective_at(all, chunk.begin), chunk.count);
        comm_receive(all->comm, from, compress->heard + (size_t)from * own, own, COMM_STORE);
    }
    return comm_wait(all->comm);
}

/* Every finished chunk to all. */
static int gather(const struct collective *all)
{
    struct slice own = collective_chunk(all, all->rank);
    for (int hop = 1; hop < all->world; hop++) {
        int to = (all->rank + hop) % all->world, from = (all->rank - hop + all->world) % all->world;
        struct slice chunk = collective_chunk(all, from);
        comm_send(all->comm, to, collective_at(all, own.begin), own.count);
        comm_receive(all->comm, from, collective_at(all, chunk.begin), chunk.count, COMM_STORE);
    }
    return comm_wait(all->comm);
}

/* Up to the sums, which are then this rank's chunk of compress->half. */
static int reduce(struct compress *compress, struct collective *all, float *values,
                  struct slice bucket)
{
    assert(bucket.count <= compress->most);
    pack(compress, values, bucket);
    int error = all->count > 0 ? scatter(compress, all) : 0;
    if (!error)
        fold(compress, all, bucket.begin);
    return error;
}

int compress_allreduce(struct compress *compress, struct comm *comm, float *values,
                       struct slice bucket)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_DIRECT, COMM_BF16, COMM_SUM, bucket.count};
    struct collective all;
    int error = collective_begin(&all, comm, &call, compress->half);
    if (!error)
        error = reduce(compress, &all, values, bucket);
    if (!error && all.count > 0)
        error = gather(&all);
    if (!error)
        half_bf16_unpack(values, compress->half, bucket.count);
    return collective_end(&all, error);
}

int compress_reduce_scatter(struct compress *compress, struct comm *comm, float *values,
                            struct slice bucket)
{
    struct comm_call call = {COMM_REDUCE_SCATTER, ALGORITHM_DIRECT, COMM_BF16, COMM_SUM,
                             bucket.count};
    struct collective all;
    int error = collective_begin(&all, comm, &call, compress->half);
    if (!error)
        error = reduce(compress, &all, values, bucket);
    struct slice own = collective_chunk(&all, all.rank);
    if (!error)
        half_bf16_unpack(values + own.begin, compress->half + own.begin, own.count);
    return collective_end(&all, error);
}
