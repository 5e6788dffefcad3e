/* agree: do all ranks hold the same bits? See the header. */
#include "lesson02_allreduce/agree.h"
#include "common/compare.h"
#include "lesson01_single/prove.h"
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/ring.h"

#include <string.h>

/* Whether all ranks' hashes are rank 0's. */
static int hashes_equal(struct comm *comm, uint64_t mine, bool *equal)
{
    uint64_t hashes[ENVIRONMENT_WORLD_MOST];
    size_t world = (size_t)comm_world(comm);
    hashes[comm_rank(comm)] = mine;
    *equal = true;
    int error = direct_all_gather(comm, hashes, world, COMM_I64);
    for (size_t rank = 1; rank < world && !error; rank++)
        *equal = *equal && hashes[rank] == hashes[0];
    return error;
}

int agree(struct run *run, struct comm *comm, const struct step *step, const char *what,
          const float *slab, float *scratch)
{
    size_t count = run->model.count;
    bool equal;
    int error = hashes_equal(comm, compare_hash(slab, count * sizeof *slab), &equal);
    if (error)
        return error;
    progress_clear(&run->progress);
    if (equal) {
        char how[64];
        snprintf(how, sizeof how, "bit for bit, hashes of %zu floats", count);
        proof_holds(&run->proof, step->index, what, how, true);
        return 0;
    }
    memcpy(scratch, slab, count * sizeof *scratch);
    error = ring_broadcast(comm, scratch, count, COMM_F32, 0);
    if (error)
        return error;
    struct prove prove = {0};
    prove_pair(&prove,
               &(struct prove_pair){.slice = run->whole, .found = slab, .expected = scratch});
    prove_end(&prove, run, step, what);
    return 0;
}
