/*
 * mpi_meet: the rendezvous of a build for MPI, whose ranks mpirun has brought together already.
 *
 * What is left to do is what rank 0 does for sockets: to find out who was started with other
 * options. Each rank tells all others its fingerprint. A "socket" to a rank is its number here.
 */
#include "lesson02_allreduce/mpi_job.h"
#include "lesson02_allreduce/rendezvous.h"

#include "common/clock.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* Kept as long as MPI may write into it. */
struct roll {
    uint64_t mine, theirs[ENVIRONMENT_WORLD_MOST];
    MPI_Request requests[2 * ENVIRONMENT_WORLD_MOST]; // first what comes, then what goes
};

int rendezvous_check(const struct comm_config *config, struct fail *fail)
{
    static const char without[] = "in the program that 'make' builds without MPI=1";
    if (config->transport != COMM_MPI)
        return fail_set(fail, -EINVAL,
                        "--transport: this program was built with MPI=1 and has mpi only; tcp and "
                        "unix are %s",
                        without);
    if (config->link.bytes_per_second > 0)
        return fail_set(fail, -EINVAL,
                        "--link: this program was built with MPI=1, and MPI's links cannot be "
                        "slowed down; sockets can, %s",
                        without);
    return 0;
}

static void call_roll(struct roll *roll, const struct environment *environment)
{
    int world = environment->world;
    for (int rank = 0; rank < world; rank++) {
        MPI_Request *in = &roll->requests[rank], *out = &roll->requests[world + rank];
        *in = *out = MPI_REQUEST_NULL;
        if (rank == environment->rank)
            continue;
        MPI_Irecv(&roll->theirs[rank], 1, MPI_UINT64_T, rank, MPI_JOB_FINGERPRINT, MPI_COMM_WORLD,
                  in);
        MPI_Isend(&roll->mine, 1, MPI_UINT64_T, rank, MPI_JOB_FINGERPRINT, MPI_COMM_WORLD, out);
    }
}

/* A rank that has not told its fingerprint, or has not been told ours; -1: all is done. */
static int first_missing(struct roll *roll, int world)
{
    for (int i = 0; i < 2 * world; i++) {
        int done = 0;
        MPI_Test(&roll->requests[i], &done, MPI_STATUS_IGNORE);
        if (!done)
            return i % world;
    }
    return -1;
}

static int hear_all(struct roll *roll, const struct environment *environment, double seconds,
                    struct fail *fail)
{
    double until = clock_seconds() + seconds;
    int missing = first_missing(roll, environment->world);
    while (missing >= 0 && clock_seconds() < until) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        missing = first_missing(roll, environment->world);
    }
    if (missing < 0)
        return 0;
    return fail_set(fail, -ETIMEDOUT,
                    "rank %d: rank %d was started, but has not joined within %g s",
                    environment->rank, missing, seconds);
}

static int compare(const struct roll *roll, const struct environment *environment,
                   struct fail *fail)
{
    for (int rank = 0; rank < environment->world; rank++)
        if (rank != environment->rank && roll->theirs[rank] != roll->mine)
            return fail_set(fail, -EINVAL,
                            "rank %d was started with other options or data than rank %d "
                            "(fingerprint %016llx, not %016llx): every rank needs the same command "
                            "line",
                            environment->rank, rank, (unsigned long long)roll->mine,
                            (unsigned long long)roll->theirs[rank]);
    return 0;
}

int rendezvous_meet(const struct environment *environment, const struct comm_config *config,
                    int *fds, struct fail *fail)
{
    int error = mpi_job_open(environment, fail);
    if (error)
        return error;
    struct roll *roll = calloc(1, sizeof *roll);
    if (!roll)
        return fail_set(fail, -ENOMEM, "no memory for %d ranks", environment->world);
    roll->mine = config->fingerprint;
    call_roll(roll, environment);
    error = hear_all(roll, environment, config->timeout_seconds, fail);
    if (error) { // MPI may still write into the roll: it stays
        mpi_job_spoil();
        return error;
    }
    error = compare(roll, environment, fail);
    free(roll);
    for (int rank = 0; rank < environment->world; rank++)
        fds[rank] = rank == environment->rank ? -1 : rank;
    return error;
}
