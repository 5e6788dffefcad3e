/* bench: what an all-reduce costs on this machine, by size and algorithm. See the header. */
#include "lesson02_allreduce/bench.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/extrapolate.h"
#include "lesson02_allreduce/gather.h"
#include "lesson02_allreduce/measured.h"
#include "lesson02_allreduce/pingpong.h"
#include "lesson02_allreduce/tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS_MOST = 200, WARM_UP = 3 };

static const size_t sizes_bytes[MEASURED_SIZES_MOST] = {4,       1 << 10, 16 << 10, 256 << 10,
                                                        1 << 20, 4 << 20, 16 << 20, 64 << 20};

/* Root and tree send whole vectors again and again: beyond this they only cost patience. */
static const size_t WHOLE_VECTORS_MOST_BYTES = 16 << 20;

/* One measurement in progress. */
struct measuring {
    const struct bench *bench;
    struct comm *comm;
    struct fail *fail;
    struct cost_link link;
    struct measured measured;
    enum algorithm algorithm; // measured now
    bool first;               // this is rank 0
};

static size_t calls_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return CALLS_MOST;
    return bytes <= 4 << 20 ? 30 : 8;
}

/* One call, begun together; its seconds on the slowest rank. */
static int measure_call(struct measuring *measuring, float *data, size_t count, double *seconds)
{
    double all[ENVIRONMENT_WORLD_MOST];
    struct comm *comm = measuring->comm;
    int error = barrier(comm);
    double began = clock_seconds();
    if (!error)
        error = allreduce(comm, data, data, count, COMM_F32, COMM_SUM);
    double mine = clock_seconds() - began;
    if (error)
        return fail_set(measuring->fail, error, "%s", comm_fail(comm)->text);
    error = gather_numbers(comm, &mine, 1, all, measuring->fail);
    *seconds = 0;
    for (int rank = 0; rank < comm_world(comm) && !error; rank++)
        *seconds = all[rank] > *seconds ? all[rank] : *seconds;
    return error;
}

/* Of auto, what it chooses for this size. */
static double predict(const struct measuring *measuring, size_t bytes)
{
    return costmodel_predict(&measuring->link, choice_for(comm_choice(measuring->comm), bytes),
                             comm_world(measuring->comm), bytes);
}

static void print_row(const struct measuring *measuring, size_t bytes, double *seconds,
                      size_t calls)
{
    int world = comm_world(measuring->comm);
    double median = statistics_median(seconds, calls), predicted = predict(measuring, bytes);
    double rate = (double)bytes / median / 1e9;
    fprintf(measuring->bench->out, "| %9zu | %9.1f | %9.1f | %9.1f | %8.3f | %8.3f | ", bytes,
            1e6 * statistics_quantile(seconds, calls, 0), 1e6 * median,
            1e6 * statistics_quantile(seconds, calls, 0.99), rate, rate * 2 * (world - 1) / world);
    if (world > 1)
        fprintf(measuring->bench->out, "%12.1f | %7.0f |\n", 1e6 * predicted,
                100 * (predicted - median) / median);
    else
        fprintf(measuring->bench->out, "%12s | %7s |\n", "-", "-"); // nothing is sent
    fflush(measuring->bench->out);
}

static int measure_size(struct measuring *measuring, size_t size)
{
    double seconds[CALLS_MOST];
    size_t bytes = sizes_bytes[size], calls = calls_for(bytes), count = bytes / sizeof(float);
    float *data = calloc(count, sizeof *data);
    if (!data)
        return fail_set(measuring->fail, -ENOMEM, "no memory for %zu floats: try --bench-most",
                        count);
    int error = 0;
    for (size_t call = 0; call < WARM_UP + calls && !error; call++)
        error = measure_call(measuring, data, count, &seconds[call < WARM_UP ? 0 : call - WARM_UP]);
    free(data);
    if (error || !measuring->first)
        return error;
    print_row(measuring, bytes, seconds, calls);
    if (measuring->algorithm != ALGORITHM_AUTO)
        measuring->measured.seconds[size][measuring->algorithm] = statistics_median(seconds, calls);
    return 0;
}

static void print_title(const struct measuring *measuring)
{
    static const char *const transports[] = {
        [COMM_TCP] = "TCP on loopback", [COMM_UNIX] = "Unix sockets"};
    fprintf(
        measuring->bench->out,
        "%s all-reduce of floats, %d ranks on %d cores, %s\n"
        "|     bytes |    min us | median us |    p99 us | alg GB/s | bus GB/s | predicted us | "
        "error %% |\n",
        algorithm_name(measuring->algorithm), comm_world(measuring->comm), measuring->link.cores,
        transports[measuring->bench->transport]);
}

static bool is_skipped(const struct measuring *measuring, size_t bytes)
{
    bool whole_vectors =
        measuring->algorithm == ALGORITHM_ROOT || measuring->algorithm == ALGORITHM_TREE;
    return measuring->bench->all && whole_vectors && bytes > WHOLE_VECTORS_MOST_BYTES;
}

static int measure_algorithm(struct measuring *measuring, enum algorithm algorithm)
{
    int error = 0;
    size_t skipped = 0;
    measuring->algorithm = algorithm;
    if (measuring->first)
        print_title(measuring);
    for (size_t i = 0; i < measuring->measured.count && !error; i++) {
        if (is_skipped(measuring, sizes_bytes[i]))
            skipped++;
        else
            error = measure_size(measuring, i);
    }
    if (measuring->first && skipped > 0)
        fprintf(measuring->bench->out,
                "left out above %zu MiB, where it sends whole vectors again and again; "
                "--algorithm %s measures it\n",
                WHOLE_VECTORS_MOST_BYTES >> 20, algorithm_name(algorithm));
    return error;
}

/* alpha, beta and gamma of this machine; rank 0 alone learns and tells them. */
static int fit_model(struct measuring *measuring)
{
    struct cost_sample samples[PINGPONG_SIZES];
    struct cost_link *link = &measuring->link;
    link->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (comm_world(measuring->comm) == 1)
        return 0;
    int error = pingpong(measuring->comm, samples, measuring->fail);
    if (error || !measuring->first)
        return error;
    link->gamma_seconds = pingpong_gamma();
    error = costmodel_fit(link, samples, PINGPONG_SIZES);
    return error ? fail_set(measuring->fail, error, "the clock saw a message take no time") : 0;
}

static void print_model(const struct measuring *measuring)
{
    const struct cost_link *link = &measuring->link;
    fprintf(measuring->bench->out,
            "fitted to a ping-pong of ranks 0 and 1: alpha %.2f us a message, beta %.4f ns a byte "
            "sent; gamma %.4f ns a byte added\n",
            1e6 * link->alpha_seconds, 1e9 * link->beta_seconds, 1e9 * link->gamma_seconds);
}

/* On rank 0: what all tables together say, beside what the model says. */
static int conclude(const struct measuring *measuring)
{
    const struct bench *bench = measuring->bench;
    int world = comm_world(measuring->comm);
    measured_print(&measuring->measured, bench->out);
    if (world > 1) {
        fprintf(bench->out, "fastest as predicted: ");
        costmodel_print_ranges(bench->out, &measuring->link, world);
        extrapolate_print(bench->out, &measuring->link);
    }
    if (!bench->tuning)
        return 0;
    struct choice choice = measured_choice(&measuring->measured);
    struct tuning tuning = {.world = world, .transport = bench->transport};
    int error = tuning_write(&tuning, &choice, bench->tuning, measuring->fail);
    if (!error)
        fprintf(bench->out, "the choice is in %s, for --algorithm auto --tuning\n", bench->tuning);
    return error;
}

static int measure_all(struct measuring *measuring)
{
    int error = 0;
    for (int algorithm = 0; algorithm < ALGORITHM_AUTO && !error; algorithm++) {
        struct choice choice = choice_fixed((enum algorithm)algorithm);
        comm_set_choice(measuring->comm, &choice);
        error = measure_algorithm(measuring, (enum algorithm)algorithm);
    }
    return error;
}

int bench_allreduce(const struct bench *bench, struct comm *comm, struct fail *fail)
{
    struct measuring measuring = {
        .bench = bench, .comm = comm, .fail = fail, .first = comm_rank(comm) == 0};
    struct measured *measured = &measuring.measured;
    for (; measured->count < MEASURED_SIZES_MOST; measured->count++) {
        if (sizes_bytes[measured->count] > bench->most_bytes)
            break;
        measured->bytes[measured->count] = sizes_bytes[measured->count];
    }
    int error = fit_model(&measuring);
    if (!error)
        error =
            bench->all ? measure_all(&measuring) : measure_algorithm(&measuring, bench->algorithm);
    if (error || !measuring.first)
        return error;
    if (comm_world(comm) > 1)
        print_model(&measuring);
    return bench->all ? conclude(&measuring) : 0;
}
