/*
 * openmpi: what an all-reduce of floats costs with MPI, by size.
 *
 *   mpirun -np WORLD openmpi BYTES...      by what the bytes travel is said to mpirun
 *
 * Measured as lesson02_allreduce/bench.c measures: a barrier before each call, a call takes as
 * long as its slowest rank, 3 calls to warm up, the median of the rest. Prints: bytes, microseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS_MOST = 200, WARM_UP = 3 };

static int calls_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return CALLS_MOST;
    return bytes <= 4 << 20 ? 30 : 8;
}

/* The sum of R vectors of ones is R everywhere: what is measured is an all-reduce. */
static void check(float *data, int count, int world)
{
    for (int i = 0; i < count; i++)
        data[i] = 1;
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        if (data[i] != (float)world)
            MPI_Abort(MPI_COMM_WORLD, 1);
        data[i] = 0;
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_seconds(float *data, int count, int calls)
{
    double mine[CALLS_MOST], slowest[CALLS_MOST];
    for (int call = -WARM_UP; call < calls; call++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        mine[call < 0 ? 0 : call] = MPI_Wtime() - began;
    }
    MPI_Allreduce(mine, slowest, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(slowest, calls, sizeof *slowest, by_value);
    return slowest[calls / 2];
}

int main(int argc, char **argv)
{
    int rank, world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (int i = 1; i < argc; i++) {
        size_t bytes = strtoul(argv[i], NULL, 10);
        int count = (int)(bytes / sizeof(float));
        float *data = malloc(bytes);
        if (!data)
            MPI_Abort(MPI_COMM_WORLD, 1);
        check(data, count, world);
        double seconds = median_seconds(data, count, calls_for(bytes));
        if (rank == 0)
            printf("%zu %.1f\n", bytes, 1e6 * seconds);
        free(data);
    }
    return MPI_Finalize();
}
