/*
 * tree: a binomial tree up and down. See the header.
 *
 * The lowest bit that is set in a rank says in which round it sends, and to whom: without that bit.
 */
#include "lesson02_allreduce/tree.h"
#include "lesson02_allreduce/collective.h"

static int lowest_bit(int rank)
{
    return rank & -rank;
}

/* Hears from rank + 1, rank + 2, rank + 4, ... below its own bit, and then sends, once. */
static int reduce_to_root(const struct collective *all)
{
    int own = lowest_bit(all->rank), error = 0;
    for (int bit = 1; (own == 0 || bit < own) && all->rank + bit < all->world && !error; bit *= 2) {
        comm_receive(all->comm, all->rank + bit, all->data, all->count, COMM_REDUCE);
        error = comm_wait(all->comm);
    }
    if (own == 0 || error)
        return error;
    comm_send(all->comm, all->rank - own, all->data, all->count);
    return comm_wait(all->comm);
}

static int broadcast_from_root(const struct collective *all)
{
    int own = lowest_bit(all->rank), bit = 1, error = 0;
    while (bit < (own ? own : all->world))
        bit *= 2;
    if (own > 0) {
        comm_receive(all->comm, all->rank - own, all->data, all->count, COMM_STORE);
        error = comm_wait(all->comm);
    }
    for (bit /= 2; bit > 0 && !error; bit /= 2) {
        if (all->rank + bit >= all->world)
            continue;
        comm_send(all->comm, all->rank + bit, all->data, all->count);
        error = comm_wait(all->comm);
    }
    return error;
}

int tree_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_TREE, type, reduction, count};
    struct collective all;
    int error = collective_begin_allreduce(&all, comm, &call, in, out);
    if (!error && count > 0)
        error = reduce_to_root(&all);
    if (!error && count > 0)
        error = broadcast_from_root(&all);
    return collective_end(&all, error);
}
