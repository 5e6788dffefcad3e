/* mpi_job: MPI_Init, MPI_Finalize, MPI_Abort. See the header. */
#include "lesson02_allreduce/mpi_job.h"
#include "common/clock.h"

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static const double LINGER_SECONDS = 1;

/* MPI's own state is one to a process and asked for by nobody's pointer; so is this part of it. */
static bool spoiled;
static char waste[256 * 1024]; // messages that nobody wants any more; none is longer

void mpi_job_spoil(void)
{
    spoiled = true;
}

/* The next message of a rank: its tag. 0: time is up, as it can only be in a job that failed. */
static int hear(int rank, double until)
{
    MPI_Request request;
    MPI_Status status;
    int done = 0;
    if (MPI_Irecv(waste, sizeof waste, MPI_BYTE, rank, MPI_ANY_TAG, MPI_COMM_WORLD, &request) !=
        MPI_SUCCESS)
        return 0;
    while (MPI_Test(&request, &done, &status) == MPI_SUCCESS && !done) {
        if (spoiled && clock_seconds() > until)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return done ? status.MPI_TAG : 0;
}

/* Each rank sends all others a last message. Messages keep their order, so what comes before it are
 * goodbyes and bad news that were not waited for: MPI wants every message to be received. */
static void hear_all_out(int own, int world)
{
    double until = clock_seconds() + LINGER_SECONDS;
    for (int rank = 0; rank < world; rank++) {
        MPI_Request request;
        if (rank != own && MPI_Isend(waste, 0, MPI_BYTE, rank, MPI_JOB_END, MPI_COMM_WORLD,
                                     &request) == MPI_SUCCESS)
            MPI_Request_free(&request); // that it has come is known when all have ended
    }
    for (int rank = 0; rank < world; rank++)
        for (int tag = MPI_JOB_BYTES; rank != own && tag != MPI_JOB_END && tag != 0;)
            tag = hear(rank, until);
}

static void on_exit_of_program(void)
{
    int rank, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    hear_all_out(rank, world);
    if (!spoiled) {
        MPI_Finalize();
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); // mpirun is to read what was said
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Errors come back as codes; left to itself MPI would end the process where one happens. */
static int start(struct fail *fail)
{
    int running = 0, threads = MPI_THREAD_SINGLE;
    MPI_Initialized(&running);
    if (running)
        return 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS)
        return fail_set(fail, -EIO, "MPI does not start: look at what it says above");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (atexit(on_exit_of_program) != 0)
        return fail_set(fail, -ENOMEM, "no memory to note that MPI must be ended");
    if (threads < MPI_THREAD_SERIALIZED)
        return fail_set(fail, -ENOTSUP,
                        "this MPI allows calls from one thread only (level %d), and lesson 3 sends "
                        "from a second one: it must be built with MPI_THREAD_SERIALIZED (%d)",
                        threads, MPI_THREAD_SERIALIZED);
    return 0;
}

int mpi_job_open(const struct environment *environment, struct fail *fail)
{
    int rank, world;
    int error = start(fail);
    if (error)
        return error;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (rank != environment->rank || world != environment->world)
        return fail_set(fail, -EINVAL,
                        "rank %d: this is rank %d of %d by the environment, but %d of %d to MPI: a "
                        "program built with MPI=1 is started by mpirun (or srun), not by "
                        "build/launch or torchrun",
                        environment->rank, environment->rank, environment->world, rank, world);
    return 0;
}
