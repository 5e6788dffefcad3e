/* pingpong: the cost of one message, measured on the communicator's own links. See the header. */
#include "lesson02_allreduce/pingpong.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/collective.h"
#include "lesson02_allreduce/reduce.h"

#include <errno.h>
#include <stdlib.h>

enum { ROUNDS_MOST = 200, WARM_UP = 3, CACHED_FLOATS = 8 * 1024 };

static const size_t sizes_bytes[PINGPONG_SIZES] = {4,        64,        1 << 10, 4 << 10, 16 << 10,
                                                   64 << 10, 256 << 10, 1 << 20, 4 << 20};

static size_t rounds_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return ROUNDS_MOST;
    return bytes <= 256 << 10 ? 50 : 10;
}

/* There and back, within a call that is open. */
static int one_round(const struct collective *all)
{
    int peer = 1 - all->rank, error = 0;
    if (all->rank == 0)
        comm_send(all->comm, peer, all->data, all->count);
    comm_receive(all->comm, peer, all->data + all->size_bytes * all->count, all->count, COMM_STORE);
    error = comm_wait(all->comm);
    if (error || all->rank == 0)
        return error;
    comm_send(all->comm, peer, all->data, all->count);
    return comm_wait(all->comm);
}

/* All rounds of a size are one call, so that what is timed is messages and nothing else. */
static int one_size(struct comm *comm, uint8_t *data, struct cost_sample *sample)
{
    double seconds[ROUNDS_MOST];
    size_t rounds = rounds_for(sample->bytes);
    struct comm_call call = {.operation = COMM_BROADCAST,
                             .algorithm = ALGORITHM_DIRECT,
                             .type = COMM_U8,
                             .count = sample->bytes};
    struct collective all;
    int error = collective_begin(&all, comm, &call, data);
    for (size_t round = 0; round < WARM_UP + rounds && all.rank < 2 && !error; round++) {
        double began = clock_seconds();
        error = one_round(&all);
        seconds[round < WARM_UP ? 0 : round - WARM_UP] = (clock_seconds() - began) / 2;
    }
    error = collective_end(&all, error);
    if (!error)
        error = barrier(comm); // or the others would take all sizes for one silence
    if (!error && all.rank == 0)
        sample->seconds = statistics_median(seconds, rounds);
    return error;
}

int pingpong(struct comm *comm, struct cost_sample samples[PINGPONG_SIZES], struct fail *fail)
{
    size_t most = sizes_bytes[PINGPONG_SIZES - 1];
    uint8_t *data = calloc(2, most); // what is sent, and what is received
    int error = 0;
    if (!data)
        return fail_set(fail, -ENOMEM, "no memory for messages of %zu bytes", most);
    for (size_t i = 0; i < PINGPONG_SIZES && !error; i++) {
        struct cost_sample sample = {.bytes = sizes_bytes[i]};
        error = one_size(comm, data, &sample);
        if (comm_rank(comm) == 0)
            samples[i] = sample;
    }
    free(data);
    return error ? fail_set(fail, error, "%s", comm_fail(comm)->text) : 0;
}

double pingpong_gamma(void)
{
    static const float others[CACHED_FLOATS];
    float own[CACHED_FLOATS] = {0};
    double seconds[ROUNDS_MOST];
    for (size_t round = 0; round < ROUNDS_MOST; round++) {
        double began = clock_seconds();
        reduce_into(own, (const uint8_t *)others, CACHED_FLOATS, COMM_F32, COMM_SUM);
        seconds[round] = clock_seconds() - began;
    }
    return statistics_median(seconds, ROUNDS_MOST) / sizeof own;
}
