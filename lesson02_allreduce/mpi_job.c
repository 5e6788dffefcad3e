/* mpi_job: MPI_Init, MPI_Finalize, MPI_Abort. See the header. */
#include "lesson02_allreduce/mpi_job.h"
#include "common/clock.h"

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static const double LINGER_SECONDS = 1;

/* MPI's own state is one to a process and asked for by nobody's pointer; so is this bit of it. */
static bool spoiled;

void mpi_job_spoil(void)
{
    spoiled = true;
}

/* All ranks have come to their end, or, of a job that failed, time is up. */
static void wait_for_all(void)
{
    MPI_Request all;
    int done = 0;
    double until = clock_seconds() + LINGER_SECONDS;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &all) != MPI_SUCCESS)
        return;
    while (MPI_Test(&all, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done &&
           !(spoiled && clock_seconds() > until))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void on_exit_of_program(void)
{
    wait_for_all();
    if (spoiled)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    else
        MPI_Finalize();
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
