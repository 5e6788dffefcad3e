/* sums: an all-reduce and its replay. See the header. */
#include "tests/sums.h"

#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/replay.h"

#include <stdlib.h>
#include <string.h>

enum { WORLD_MOST = 16 };

float *sums_share(int rank, size_t count)
{
    float *share = malloc((count + 1) * sizeof *share); // not NULL for none
    if (!share)
        abort();
    for (size_t i = 0; i < count; i++) {
        float magnitude = (i + (size_t)rank) % 3 == 0 ? 4096.0f : 1.0f;
        share[i] = magnitude / (float)(i % 8191 + 3 * (size_t)rank + 1);
    }
    return share;
}

float *sums_replay(enum algorithm algorithm, int world, size_t count)
{
    float *shares[WORLD_MOST], *out = sums_share(0, count);
    const void *vectors[WORLD_MOST];
    for (int rank = 0; rank < world; rank++)
        vectors[rank] = shares[rank] = sums_share(rank, count);
    struct replay replay = {vectors, (size_t)world, count, COMM_F32, COMM_SUM};
    replay_allreduce(&replay, algorithm, out);
    for (int rank = 0; rank < world; rank++)
        free(shares[rank]);
    return out;
}

int sums_allreduce(struct comm *comm, enum algorithm algorithm, size_t count, size_t *where)
{
    struct choice choice = choice_fixed(algorithm);
    float *data = sums_share(comm_rank(comm), count);
    comm_set_choice(comm, &choice);
    int error = allreduce(comm, data, data, count, COMM_F32, COMM_SUM);
    float *expected = sums_replay(algorithm, comm_world(comm), count);
    *where = 0;
    while (*where < count && memcmp(&data[*where], &expected[*where], sizeof *data) == 0)
        ++*where;
    free(data);
    free(expected);
    return error ? error : *where < count;
}
