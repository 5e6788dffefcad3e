/* root: all to rank 0, and back. See the header. */
#include "lesson02_allreduce/root.h"
#include "lesson02_allreduce/collective.h"

static int serve(const struct collective *all)
{
    int error = 0;
    for (int rank = 1; rank < all->world && !error; rank++) {
        comm_receive(all->comm, rank, all->data, all->count, COMM_REDUCE);
        error = comm_wait(all->comm);
    }
    for (int rank = 1; rank < all->world && !error; rank++)
        comm_send(all->comm, rank, all->data, all->count);
    return error ? error : comm_wait(all->comm);
}

static int ask(const struct collective *all)
{
    comm_send(all->comm, 0, all->data, all->count);
    int error = comm_wait(all->comm);
    if (error)
        return error;
    comm_receive(all->comm, 0, all->data, all->count, COMM_STORE);
    return comm_wait(all->comm);
}

int root_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_ROOT, type, reduction, count};
    struct collective all;
    int error = collective_begin_allreduce(&all, comm, &call, in, out);
    if (!error && count > 0)
        error = all.rank == 0 ? serve(&all) : ask(&all);
    return collective_end(&all, error);
}
