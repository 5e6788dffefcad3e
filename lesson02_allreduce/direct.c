/*
 * direct: every part straight to the rank that adds it up. See the header.
 *
 * Long vectors move in segments, so that what waits for its turn to be folded fits in the links'
 * staging buffers and stays in the cache.
 */
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/collective.h"
#include "lesson02_allreduce/reduce.h"

#include <stdbool.h>
#include <string.h>

enum { SEGMENT_BYTES = 128 * 1024 };

/* Sends to each other rank `part` of the vector, or, if there is none, that rank's own chunk of it:
 * its elements from `from` on. The next rank first, so that not all send to rank 0 at once. */
static void send_to_all(const struct collective *all, const struct slice *part, size_t from)
{
    size_t most = SEGMENT_BYTES / all->size_bytes;
    for (int hop = 1; hop < all->world; hop++) {
        int to = (all->rank + hop) % all->world;
        struct slice sent = part ? *part : collective_part(collective_chunk(all, to), from, most);
        comm_send(all->comm, to, collective_at(all, sent.begin), sent.count);
    }
}

/* Folds everybody's `part`, in rank order; this rank's own is in the vector, the others' come in. */
static int fold_all(const struct collective *all, struct slice part)
{
    uint8_t folded[SEGMENT_BYTES];
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

static int reduce_scatter_steps(const struct collective *all)
{
    size_t most = SEGMENT_BYTES / all->size_bytes, longest = collective_chunk(all, 0).count;
    int error = 0;
    for (size_t from = 0; from < longest && !error; from += most) {
        send_to_all(all, NULL, from);
        error = fold_all(all, collective_part(collective_chunk(all, all->rank), from, most));
    }
    return error;
}

static int all_gather_steps(const struct collective *all)
{
    size_t most = SEGMENT_BYTES / all->size_bytes, longest = collective_chunk(all, 0).count;
    int error = 0;
    for (size_t from = 0; from < longest && !error; from += most) {
        struct slice own = collective_part(collective_chunk(all, all->rank), from, most);
        send_to_all(all, &own, 0);
        for (int hop = 1; hop < all->world; hop++) {
            int rank = (all->rank + all->world - hop) % all->world;
            struct slice part = collective_part(collective_chunk(all, rank), from, most);
            comm_receive(all->comm, rank, collective_at(all, part.begin), part.count, COMM_STORE);
        }
        error = comm_wait(all->comm);
    }
    return error;
}

static int one_step(const struct collective *all)
{
    struct slice whole = {.begin = 0, .count = all->count};
    send_to_all(all, &whole, 0);
    return fold_all(all, whole);
}

int direct_allreduce(struct comm *comm, const void *in, void *out, size_t count,
                     enum comm_type type, enum comm_reduction reduction)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_DIRECT, type, reduction, count};
    struct collective all;
    int error = collective_begin_allreduce(&all, comm, &call, in, out);
    bool is_short = count * comm_type_bytes(type) <= ALGORITHM_DIRECT_WHOLE_BYTES;
    if (!error && count > 0 && is_short) {
        error = one_step(&all);
    } else if (!error && count > 0) {
        error = reduce_scatter_steps(&all);
        if (!error)
            error = all_gather_steps(&all);
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
        error = reduce_scatter_steps(&all);
    return collective_end(&all, error);
}

int direct_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    struct comm_call call = {COMM_ALL_GATHER, ALGORITHM_DIRECT, type, COMM_SUM, count};
    struct collective all;
    int error = collective_begin(&all, comm, &call, data);
    if (!error)
        error = all_gather_steps(&all);
    return collective_end(&all, error);
}
