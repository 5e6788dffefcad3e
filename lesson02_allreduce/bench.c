/* bench: what an all-reduce costs on this machine, by size. See the header. */
#include "lesson02_allreduce/bench.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS_MOST = 200, WARM_UP = 3 };

static const size_t sizes_bytes[] = {4,       1 << 10, 16 << 10, 256 << 10,
                                     1 << 20, 4 << 20, 16 << 20, 64 << 20};

static size_t calls_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return CALLS_MOST;
    return bytes <= 4 << 20 ? 30 : 8;
}

/* One call, begun together; its seconds on the slowest rank. */
static int measure_call(struct comm *comm, float *data, size_t count, double *seconds,
                        struct fail *fail)
{
    double all[ENVIRONMENT_WORLD_MOST];
    int error = barrier(comm);
    double began = clock_seconds();
    if (!error)
        error = allreduce(comm, data, data, count, COMM_F32, COMM_SUM);
    double mine = clock_seconds() - began;
    if (error)
        return fail_set(fail, error, "%s", comm_fail(comm)->text);
    error = gather_numbers(comm, &mine, 1, all, fail);
    *seconds = 0;
    for (int rank = 0; rank < comm_world(comm) && !error; rank++)
        *seconds = all[rank] > *seconds ? all[rank] : *seconds;
    return error;
}

static void print_row(FILE *out, size_t bytes, double *seconds, size_t calls, int world)
{
    double median = statistics_median(seconds, calls);
    double rate = (double)bytes / median / 1e9;
    fprintf(out, "| %9zu | %9.1f | %9.1f | %9.1f | %8.3f | %8.3f |\n", bytes,
            1e6 * statistics_quantile(seconds, calls, 0), 1e6 * median,
            1e6 * statistics_quantile(seconds, calls, 0.99), rate, rate * 2 * (world - 1) / world);
    fflush(out);
}

static int measure_size(struct comm *comm, size_t bytes, FILE *out, struct fail *fail)
{
    double seconds[CALLS_MOST];
    size_t calls = calls_for(bytes), count = bytes / sizeof(float);
    float *data = calloc(count, sizeof *data);
    if (!data)
        return fail_set(fail, -ENOMEM, "no memory for %zu floats", count);
    int error = 0;
    for (size_t call = 0; call < WARM_UP + calls && !error; call++)
        error =
            measure_call(comm, data, count, &seconds[call < WARM_UP ? 0 : call - WARM_UP], fail);
    free(data);
    if (!error && comm_rank(comm) == 0)
        print_row(out, bytes, seconds, calls, comm_world(comm));
    return error;
}

int bench_allreduce(struct comm *comm, FILE *out, struct fail *fail)
{
    int error = 0;
    if (comm_rank(comm) == 0)
        fprintf(out,
                "ring all-reduce of floats, %d ranks on %ld cores, TCP on loopback\n"
                "|     bytes |    min us | median us |    p99 us | alg GB/s | bus GB/s |\n",
                comm_world(comm), sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes && !error; i++)
        error = measure_size(comm, sizes_bytes[i], out, fail);
    return error;
}
