/*
 * mpi_job: this process as a rank of an MPI job, from MPI_Init to MPI_Finalize.
 *
 * MPI begins and ends once in a process, whatever communicators of ours come and go in between. It
 * ends when the program does: mpirun takes the first rank that leaves with an error for a reason to
 * kill the others, and so all say first what they have to say.
 *
 *     all well      hear all others out, to their last message, then MPI_Finalize
 *     job failed    hear them for a second, then MPI_Abort: a rank that is stuck ends too
 */
#ifndef LESSON02_MPI_JOB_H
#define LESSON02_MPI_JOB_H

#include "common/environment.h"
#include "common/fail.h"

/* Of the messages between two ranks. */
enum { MPI_JOB_BYTES = 1, MPI_JOB_FINGERPRINT, MPI_JOB_END };

/* Starts MPI, unless it runs already. 0, or a negative error: MPI cannot be used as lesson 3 needs
 * it, or knows this rank by another number than the environment, as when mpirun did not start it. */
int mpi_job_open(const struct environment *environment, struct fail *fail);

/* From now on the job can only end by MPI_Abort: there is bad news, or a message under way that
 * will never arrive. */
void mpi_job_spoil(void);

#endif
