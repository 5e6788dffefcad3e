/* replicas: all ranks begin with the same parameters. See the header. */
#include "lesson03_ddp/replicas.h"
#include "common/compare.h"
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/ring.h"
#include "lesson03_ddp/manifest.h"

#include <errno.h>

int replicas_begin(struct run *run, struct comm *comm)
{
    size_t world = (size_t)comm_world(comm), count = run->model.count;
    uint64_t hashes[ENVIRONMENT_WORLD_MOST];
    int error = manifest_compare(run, comm);
    bool differ = zoo_has(&run->options, ZOO_SEED_PER_RANK); // a mistake
    if (error || differ)
        return error;
    error = ring_broadcast(comm, run->param, count, COMM_F32, 0);
    hashes[comm_rank(comm)] = compare_hash(run->param, count * sizeof *run->param);
    if (!error)
        error = direct_all_gather(comm, hashes, world, COMM_I64);
    for (size_t rank = 1; rank < world && !error; rank++)
        if (hashes[rank] != hashes[0])
            error =
                fail_set(&run->fail, -EINVAL,
                         "rank %zu does not hold rank 0's parameters after the broadcast", rank);
    return error;
}
