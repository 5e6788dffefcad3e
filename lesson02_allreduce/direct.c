/*
 * direct: every part straight to the rank that adds it up. See the header.
 *
 * Long vectors move in segments, so that what waits for its turn to be folded fits in the links'
 * staging buffers. An all-reduce gathers each segment as soon as it is folded, while it is still in
 * the cache: a long vector then passes the memory bus fewer times than by two whole halves.
 */
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/collective.h"
#include "lesson02_allreduce/reduce.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { SEGMENT_BYTES = 128 * 1024 };

/* A segment, or a whole vector of up to algorithm_direct_whole_bytes(). */
enum { FOLDED_BYTES = 256 * 1024 };

/* Elements `from` on of the chunk that is at home at `rank`, one segment at most. */
static struct slice part_of(const struct collective *all, int rank, size_t from)
{
    return collective_part(collective_chunk(all, rank), from, SEGMENT_BYTES / all->size_bytes);
}

/* Sends to each other rank `part` of the vector, or, if there is none, that rank's own chunk of it:
 * its elements from `from` on. The next rank first, so that not all send to rank 0 at once. */
static void send_to_all(const struct collective *all, const struct slice *part, size_t from)
{
    for (int hop = 1; hop < all->world; hop++) {
        int to = (all->rank + hop) % all->world;
        struct slice sent = part ? *part : part_of(all, to, from);
        comm_send(all->comm, to, collective_at(all, sent.begin), sent.count);
    }
}

/* Folds everybody's `part`, in rank order; this rank's own is in the vector, the others' come in. */
static int fold_all(const struct collective *all, struct slice part)
{
    uint8_t folded[FOLDED_BYTES];
    void *mine = collective_at(all, part.begin);
    int error = 0;
    for (int rank = 0; rank < all->world && !error; rank++) {
        enum comm_receive how = rank == 0 ? COMM_STORE : COMM_REDUCE;
        if (rank != all->rank)
            comm_receive(all->comm, rank, folded, part.count, how);
        else if (rank == 0)
            memcpy(folded, mine, part.count * all->size_bytes);
        else
            reduce_into(folded, mine, part.count, all->call.type, all->call.reduction);
        error = comm_wait(all->comm);
    }
    if (!error)
        memcpy(mine, folded, part.count * all->size_bytes);
    return error;
}

/* Segment `from` of every chunk goes home and is folded there. */
static int scatter_segment(const struct collective *all, size_t from)
{
    send_to_all(all, NULL, from);
    return fold_all(all, part_of(all, all->rank, from));
}

/* And back to everybody. */
static int gather_segment(const struct collective *all, size_t from)
{
    struct slice own = part_of(all, all->rank, from);
    send_to_all(all, &own, 0);
    for (int hop = 1; hop < all->world; hop++) {
        int rank = (all->rank + all->world - hop) % all->world;
        struct slice part = part_of(all, rank, from);
        comm_receive(all->comm, rank, collective_at(all, part.begin), part.count, COMM_STORE);
    }
    return comm_wait(all->comm);
}

typedef int segment_step(const struct collective *all, size_t from);

/* A segment is gathered while it is still in the cache. */
static int both_steps(const struct collective *all, size_t from)
{
    int error = scatter_segment(all, from);
    return error ? error : gather_segment(all, from);
}

static int each_segment(const struct collective *all, segment_step *step)
{
    size_t most = SEGMENT_BYTES / all->size_bytes, longest = collective_chunk(all, 0).count;
    int error = 0;
    for (size_t from = 0; from < longest && !error; from += most)
        error = step(all, from);
    return error;
}

static int one_step(const struct collective *all)
{
    struct slice whole = {.begin = 0, .count = all->count};
    assert(all->count * all->size_bytes <= FOLDED_BYTES);
    send_to_all(all, &whole, 0);
    return fold_all(all, whole);
}

int direct_allreduce(struct comm *comm, const void *in, void *out, size_t count,
                     enum comm_type type, enum comm_reduction reduction)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_DIRECT, type, reduction, count};
    struct collective all;
    int error = collective_begin_allreduce(&all, comm, &call, in, out);
    bool is_short = count * comm_type_bytes(type) <= algorithm_direct_whole_bytes(comm_world(comm));
    if (!error && count > 0 && is_short) {
        error = one_step(&all);
    } else if (!error && count > 0) {
        error = each_segment(&all, both_steps);
    }
    return collective_end(&all, error);
}

int direct_reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                          enum comm_reduction reduction)
{
    struct comm_call call = {COMM_REDUCE_SCATTER, ALGORITHM_DIRECT, type, reduction, count};
    struct collective all;
    int error = collective_begin(&all, comm, &call, data);
    if (!error)
        error = each_segment(&all, scatter_segment);
    return collective_end(&all, error);
}

int direct_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    struct comm_call call = {COMM_ALL_GATHER, ALGORITHM_DIRECT, type, COMM_SUM, count};
    struct collective all;
    int error = collective_begin(&all, comm, &call, data);
    if (!error)
        error = each_segment(&all, gather_segment);
    return collective_end(&all, error);
}
