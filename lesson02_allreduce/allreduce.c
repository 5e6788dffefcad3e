/* allreduce: picks an algorithm. See the header. */
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/halving.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/root.h"
#include "lesson02_allreduce/tree.h"

#include <errno.h>

typedef int algorithm_call(struct comm *comm, const void *in, void *out, size_t count,
                           enum comm_type type, enum comm_reduction reduction);

static algorithm_call *const algorithms[] = {
    [ALGORITHM_RING] = ring_allreduce,     [ALGORITHM_ROOT] = root_allreduce,
    [ALGORITHM_TREE] = tree_allreduce,     [ALGORITHM_HALVING] = halving_allreduce,
    [ALGORITHM_DIRECT] = direct_allreduce,
};

static enum algorithm chosen(const struct comm *comm, size_t count, enum comm_type type)
{
    return choice_for(comm_choice(comm), count * comm_type_bytes(type));
}

int allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
              enum comm_reduction reduction)
{
    return algorithms[chosen(comm, count, type)](comm, in, out, count, type, reduction);
}

int reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                   enum comm_reduction reduction)
{
    enum algorithm algorithm = chosen(comm, count, type);
    if (algorithm == ALGORITHM_RING)
        return ring_reduce_scatter(comm, data, count, type, reduction);
    if (algorithm == ALGORITHM_DIRECT)
        return direct_reduce_scatter(comm, data, count, type, reduction);
    return -EOPNOTSUPP;
}

int all_gather(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    enum algorithm algorithm = chosen(comm, count, type);
    if (algorithm == ALGORITHM_RING)
        return ring_all_gather(comm, data, count, type);
    if (algorithm == ALGORITHM_DIRECT)
        return direct_all_gather(comm, data, count, type);
    return -EOPNOTSUPP;
}
