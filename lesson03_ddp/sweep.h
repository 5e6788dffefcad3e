/*
 * sweep: the same step with many bucket sizes, measured in alternation, beside the model's times.
 *
 * Every round makes one step with each plan, and one without any communication: so whatever slows the
 * machine for a while slows them all. Medians over rounds count. The step without communication says
 * when each gradient is ready, and that is all the model knows of this machine's computing.
 */
#ifndef LESSON03_SWEEP_H
#define LESSON03_SWEEP_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"
#include "lesson03_ddp/bucketmodel.h"
#include "lesson03_ddp/ddp.h"

enum { SWEEP_ROWS_MOST = 16, SWEEP_ROUNDS_MOST = 32 };

struct sweep_row {
    const char *name; // "256 KiB"
    size_t bytes;     // both caps
    bool overlap;
    struct bucket_plan plan;

    double seconds, exposed_seconds, comm_seconds; // medians, of this rank
    size_t messages;                               // this rank's, in one step
    double model_seconds, model_exposed_seconds;

    double all_seconds[SWEEP_ROUNDS_MOST], all_exposed_seconds[SWEEP_ROUNDS_MOST],
        all_comm_seconds[SWEEP_ROUNDS_MOST];
};

struct sweep {
    struct run *run;
    struct ddp ddp;
    size_t rounds; // after one that does not count
    struct sweep_row rows[SWEEP_ROWS_MOST];
    size_t count;
    struct cost_link link;

    /* Without communication: medians, of this rank. */
    double step_seconds, gradient_seconds;
    double ready_seconds[MODEL_TENSORS_MOST];
};

/* Plans naive, flat and the sizes of the sweep; starts the communication thread; measures the link,
 * or takes what --link says. Every rank. 0, or an error that run->fail or the communicator tells. */
int sweep_init(struct sweep *sweep, struct run *run, struct comm *comm, size_t rounds);
void sweep_release(struct sweep *sweep); // accepts a zeroed struct

/* Measures all rows, then asks the model. The same errors. */
int sweep_measure(struct sweep *sweep);

/* The row with overlap that took least time, or that the model says will. */
const struct sweep_row *sweep_fastest(const struct sweep *sweep, bool by_model);

#endif
