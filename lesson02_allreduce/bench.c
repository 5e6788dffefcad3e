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

enum { ROUNDS = 4, CALLS_MOST = 50, WARM_UP = 1 }; // calls of one round

static const size_t sizes_bytes[MEASURED_SIZES_MOST] = {4,       1 << 10, 16 << 10, 256 << 10,
                                                        1 << 20, 4 << 20, 16 << 20, 64 << 20};

/* Root and tree send whole vectors again and again: beyond this they only cost patience. */
static const size_t WHOLE_VECTORS_MOST_BYTES = 16 << 20;

/* What is printed of one algorithm at one size; zeros where it was not measured. */
struct times {
    double least, median, p99;
};

/* One measurement in progress. */
struct measuring {
    const struct bench *bench;
    struct comm *comm;
    struct fail *fail;
    struct cost_link link;
    struct measured measured;
    size_t algorithms; // how many of the following
    enum algorithm algorithm[ALGORITHM_AUTO];
    struct times times[MEASURED_SIZES_MOST][ALGORITHM_AUTO];
    bool first; // this is rank 0
};

static size_t calls_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return CALLS_MOST;
    return bytes <= 4 << 20 ? 8 : 2;
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

static bool is_skipped(const struct measuring *measuring, enum algorithm algorithm, size_t bytes)
{
    bool whole_vectors = algorithm == ALGORITHM_ROOT || algorithm == ALGORITHM_TREE;
    return measuring->bench->all && whole_vectors && bytes > WHOLE_VECTORS_MOST_BYTES;
}

/* One algorithm's turn: its calls of a round, after some that are not counted. */
static int take_turn(struct measuring *measuring, size_t index, float *data, size_t bytes,
                     double *seconds)
{
    if (is_skipped(measuring, measuring->algorithm[index], bytes))
        return 0;
    struct choice choice = choice_fixed(measuring->algorithm[index]);
    if (measuring->bench->all)
        comm_set_choice(measuring->comm, &choice);
    int error = 0;
    for (size_t call = 0; call < WARM_UP + calls_for(bytes) && !error; call++)
        error = measure_call(measuring, data, bytes / sizeof *data,
                             &seconds[call < WARM_UP ? 0 : call - WARM_UP]);
    return error;
}

static void take_times(struct measuring *measuring, size_t size, size_t index, double *seconds)
{
    size_t bytes = measuring->measured.bytes[size], calls = ROUNDS * calls_for(bytes);
    enum algorithm algorithm = measuring->algorithm[index];
    if (is_skipped(measuring, algorithm, bytes))
        return;
    struct times *times = &measuring->times[size][index];
    times->least = statistics_quantile(seconds, calls, 0);
    times->median = statistics_median(seconds, calls);
    times->p99 = statistics_quantile(seconds, calls, 0.99);
    if (algorithm != ALGORITHM_AUTO)
        measuring->measured.seconds[size][algorithm] = times->median;
}

/* Round by round, every algorithm takes its turn, so that a machine that is slower for a while is
 * so for all of them. */
static int measure_size(struct measuring *measuring, size_t size)
{
    double seconds[ALGORITHM_AUTO][ROUNDS * CALLS_MOST];
    size_t bytes = measuring->measured.bytes[size], calls = calls_for(bytes);
    float *data = calloc(bytes / sizeof *data, sizeof *data);
    if (!data)
        return fail_set(measuring->fail, -ENOMEM, "no memory for %zu bytes: try --bench-most",
                        bytes);
    int error = 0;
    for (size_t turn = 0; turn < ROUNDS * measuring->algorithms && !error; turn++) {
        size_t round = turn / measuring->algorithms, index = turn % measuring->algorithms;
        error = take_turn(measuring, index, data, bytes, seconds[index] + round * calls);
    }
    for (size_t index = 0; index < measuring->algorithms && !error; index++)
        take_times(measuring, size, index, seconds[index]);
    free(data);
    return error;
}

/* Of auto, what it chooses for this size. */
static double predict(const struct measuring *measuring, enum algorithm algorithm, size_t bytes)
{
    if (algorithm == ALGORITHM_AUTO)
        algorithm = choice_for(comm_choice(measuring->comm), bytes);
    return costmodel_predict(&measuring->link, algorithm, comm_world(measuring->comm), bytes);
}

static void print_row(const struct measuring *measuring, size_t size, size_t index)
{
    FILE *out = measuring->bench->out;
    int world = comm_world(measuring->comm);
    size_t bytes = measuring->measured.bytes[size];
    const struct times *times = &measuring->times[size][index];
    double predicted = predict(measuring, measuring->algorithm[index], bytes);
    double rate = (double)bytes / times->median / 1e9;
    fprintf(out, "| %9zu | %9.1f | %9.1f | %9.1f | %8.3f | %8.3f | ", bytes, 1e6 * times->least,
            1e6 * times->median, 1e6 * times->p99, rate, rate * 2 * (world - 1) / world);
    if (world > 1)
        fprintf(out, "%12.1f | %7.0f |\n", 1e6 * predicted,
                100 * (predicted - times->median) / times->median);
    else
        fprintf(out, "%12s | %7s |\n", "-", "-"); // nothing is sent
    fflush(out);
}

static void print_title(const struct measuring *measuring, enum algorithm algorithm)
{
    static const char *const transports[] = {
        [COMM_TCP] = "TCP on loopback", [COMM_UNIX] = "Unix sockets", [COMM_MPI] = "MPI"};
    const struct bench *bench = measuring->bench;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int world = comm_world(measuring->comm);
    fprintf(bench->out, "%s all-reduce of floats, %d rank%s on %ld core%s, %s%s%s\n",
            algorithm_name(algorithm), world, world == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
            transports[bench->transport], bench->link ? ", slowed to " : "",
            bench->link ? bench->link : "");
    fprintf(bench->out, "|     bytes |    min us | median us |    p99 us | alg GB/s | bus GB/s | "
                        "predicted us | error %% |\n");
}

static void print_table(const struct measuring *measuring, size_t index)
{
    enum algorithm algorithm = measuring->algorithm[index];
    size_t skipped = 0;
    print_title(measuring, algorithm);
    for (size_t size = 0; size < measuring->measured.count; size++) {
        if (is_skipped(measuring, algorithm, measuring->measured.bytes[size]))
            skipped++;
        else
            print_row(measuring, size, index);
    }
    if (skipped > 0)
        fprintf(measuring->bench->out,
                "left out above %zu MiB, where it sends whole vectors again and again; "
                "--algorithm %s measures it\n",
                WHOLE_VECTORS_MOST_BYTES >> 20, algorithm_name(algorithm));
}

/* alpha, beta and gamma of this machine; rank 0 alone learns and tells them. */
static int fit_model(struct measuring *measuring)
{
    struct cost_sample samples[PINGPONG_SIZES];
    struct cost_link *link = &measuring->link;
    if (!measuring->bench->link) // of a slowed link, no core moves the bytes
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
    struct choice builtin = choice_builtin(world);
    struct choice choice = measured_choice(&measuring->measured, &builtin);
    measured_print(&measuring->measured, &choice, bench->out);
    if (world > 1) {
        fprintf(bench->out, "fastest as predicted: ");
        costmodel_print_ranges(bench->out, &measuring->link, world);
        extrapolate_print(bench->out, &measuring->link);
    }
    if (!bench->tuning)
        return 0;
    struct tuning tuning = {.world = world, .transport = bench->transport};
    int error = tuning_write(&tuning, &choice, bench->tuning, measuring->fail);
    if (!error)
        fprintf(bench->out, "the choice is in %s, for --algorithm auto --tuning\n", bench->tuning);
    return error;
}

/* Which sizes, and which algorithms. */
static void plan(struct measuring *measuring)
{
    const struct bench *bench = measuring->bench;
    struct measured *measured = &measuring->measured;
    for (; measured->count < MEASURED_SIZES_MOST; measured->count++) {
        if (sizes_bytes[measured->count] > bench->most_bytes)
            break;
        measured->bytes[measured->count] = sizes_bytes[measured->count];
    }
    measuring->algorithms = bench->all ? ALGORITHM_AUTO : 1;
    measuring->algorithm[0] = bench->algorithm;
    for (int i = 0; i < ALGORITHM_AUTO && bench->all; i++)
        measuring->algorithm[i] = (enum algorithm)i;
}

int bench_allreduce(const struct bench *bench, struct comm *comm, struct fail *fail)
{
    struct measuring measuring = {
        .bench = bench, .comm = comm, .fail = fail, .first = comm_rank(comm) == 0};
    plan(&measuring);
    bool grows = measuring.first && !bench->all; // the only table, a row as soon as it is measured
    int error = 0;
    if (measuring.first && bench->all && bench->tuning)
        error = tuning_check(bench->tuning, fail); // not after minutes of measuring
    if (!error)
        error = fit_model(&measuring);
    if (!error && grows)
        print_title(&measuring, bench->algorithm);
    for (size_t size = 0; size < measuring.measured.count && !error; size++) {
        error = measure_size(&measuring, size);
        if (!error && grows)
            print_row(&measuring, size, 0);
    }
    if (error || !measuring.first)
        return error;
    for (size_t index = 0; index < measuring.algorithms && bench->all; index++)
        print_table(&measuring, index);
    if (comm_world(comm) > 1)
        print_model(&measuring);
    return bench->all ? conclude(&measuring) : 0;
}
