/*
 * replay: the order of operations of each algorithm. See the header.
 *
 *     ring        chunk c: ((g[c+1] + g[c+2]) + ...) + g[c]       around the ring, home to c
 *     root        ((g0 + g1) + g2) + ...                          as they come, in rank order
 *     direct      the same, whatever the chunk
 *     tree        ((g0 + g1) + (g2 + g3)) + ...                   pairs, pairs of pairs
 *     halving     pairs as well; first the ranks that stand aside, each into the one before it;
 *                 on each side of a pair the own value comes first
 *
 * Sums and products have the same bits whichever operand comes first. A minimum of 0 and -0, or of
 * two NaNs, has not; so the order of operands is kept too.
 */
#include "lesson02_allreduce/replay.h"

#include "common/slice.h"
#include "lesson02_allreduce/halving.h"
#include "lesson02_allreduce/reduce.h"

#include <string.h>

/* Trees are computed for a few elements at a time, of all ranks. */
enum { BLOCK_BYTES = 64 };
struct block {
    uint8_t bytes[BLOCK_BYTES];
};

static const uint8_t *share_at(const struct replay *replay, size_t rank, size_t index)
{
    return (const uint8_t *)replay->shares[rank] + index * comm_type_bytes(replay->type);
}

/* own (count) = own and others' (count) */
static void fold(const struct replay *replay, void *own, const void *others, size_t count)
{
    reduce_into(own, others, count, replay->type, replay->reduction);
}

/* A ring rank folds what it hears into its own: own first. */
static void ring_chunk(const struct replay *replay, size_t chunk, struct slice slice, void *out)
{
    size_t size = comm_type_bytes(replay->type), world = replay->world;
    uint8_t *at = (uint8_t *)out + slice.begin * size;
    memcpy(at, share_at(replay, (chunk + 1) % world, slice.begin), slice.count * size);
    for (size_t hop = 2; hop <= world; hop++) {
        const uint8_t *own = share_at(replay, (chunk + hop) % world, slice.begin);
        for (size_t i = 0; i < slice.count; i++) {
            uint64_t value = 0; // of any type
            memcpy(&value, own + i * size, size);
            fold(replay, &value, at + i * size, 1);
            memcpy(at + i * size, &value, size);
        }
    }
}

static void ring(const struct replay *replay, void *out)
{
    for (size_t chunk = 0; chunk < replay->world; chunk++)
        ring_chunk(replay, chunk, slice_of(replay->count, replay->world, chunk), out);
}

static void in_rank_order(const struct replay *replay, void *out)
{
    memcpy(out, replay->shares[0], replay->count * comm_type_bytes(replay->type));
    for (size_t rank = 1; rank < replay->world; rank++)
        fold(replay, out, replay->shares[rank], replay->count);
}

/* Elements index .. index + count of every rank. */
static void load(const struct replay *replay, struct block *of, size_t index, size_t count)
{
    for (size_t rank = 0; rank < replay->world; rank++)
        memcpy(of[rank].bytes, share_at(replay, rank, index),
               count * comm_type_bytes(replay->type));
}

static void tree_block(const struct replay *replay, size_t index, size_t count, void *out)
{
    struct block of[ENVIRONMENT_WORLD_MOST];
    size_t size = comm_type_bytes(replay->type);
    load(replay, of, index, count);
    for (size_t bit = 1; bit < replay->world; bit *= 2)
        for (size_t rank = 0; rank + bit < replay->world; rank += 2 * bit)
            fold(replay, of[rank].bytes, of[rank + bit].bytes, count);
    memcpy((uint8_t *)out + index * size, of[0].bytes, count * size);
}

/* Those that stand aside are folded in, and the places closed up. */
static void take_places(const struct replay *replay, struct block *of, size_t count)
{
    size_t extra = replay->world - (size_t)halving_power((int)replay->world);
    for (size_t place = 0; place < replay->world - extra; place++) {
        size_t rank = place < extra ? 2 * place : place + extra;
        of[place] = of[rank];
        if (place < extra)
            fold(replay, of[place].bytes, of[rank + 1].bytes, count);
    }
}

/* What place `place` holds in the end: it folds its partner's into its own, at each distance. */
static void halving_block(const struct replay *replay, size_t place, size_t index, size_t count,
                          void *out)
{
    struct block of[ENVIRONMENT_WORLD_MOST];
    size_t size = comm_type_bytes(replay->type);
    size_t power = (size_t)halving_power((int)replay->world);
    load(replay, of, index, count);
    take_places(replay, of, count);
    for (size_t distance = 1; distance < power; distance *= 2)
        for (size_t low = 0; low < power; low++) {
            size_t high = low | distance;
            if (low == high)
                continue;
            struct block before = of[low];
            fold(replay, of[low].bytes, of[high].bytes, count);
            fold(replay, of[high].bytes, before.bytes, count);
        }
    memcpy((uint8_t *)out + index * size, of[place].bytes, count * size);
}

/* The slice that place `place` is responsible for, after all halvings. */
static struct slice halving_slice(const struct replay *replay, size_t place)
{
    struct slice slice = {.begin = 0, .count = replay->count};
    size_t power = (size_t)halving_power((int)replay->world);
    for (size_t distance = 1; distance < power; distance *= 2) {
        struct slice part = slice_of(slice.count, 2, (place & distance) != 0);
        slice = (struct slice){.begin = slice.begin + part.begin, .count = part.count};
    }
    return slice;
}

static void tree(const struct replay *replay, void *out)
{
    size_t most = BLOCK_BYTES / comm_type_bytes(replay->type);
    for (size_t i = 0; i < replay->count; i += most)
        tree_block(replay, i, replay->count - i < most ? replay->count - i : most, out);
}

static void halving(const struct replay *replay, void *out)
{
    size_t most = BLOCK_BYTES / comm_type_bytes(replay->type);
    size_t places = (size_t)halving_power((int)replay->world);
    for (size_t place = 0; place < places; place++) {
        struct slice slice = halving_slice(replay, place);
        size_t end = slice.begin + slice.count;
        for (size_t i = slice.begin; i < end; i += most)
            halving_block(replay, place, i, end - i < most ? end - i : most, out);
    }
}

void replay_allreduce(const struct replay *replay, enum algorithm algorithm, void *out)
{
    if (replay->count == 0)
        return;
    if (algorithm == ALGORITHM_RING)
        ring(replay, out);
    else if (algorithm == ALGORITHM_TREE)
        tree(replay, out);
    else if (algorithm == ALGORITHM_HALVING)
        halving(replay, out);
    else
        in_rank_order(replay, out);
}
