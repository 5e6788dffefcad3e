/*
 * ddp: gradients that leave while backward still computes.
 *
 * Backward announces each finished tensor; a bucket whose last tensor has come is handed to the
 * worker. A later bucket that fills first waits for its turn, so that every rank sends in the same
 * order. In an accumulation window only the last micro-batch announces: one reduction per bucket
 * per update.
 *
 *     ddp_begin(ddp);                              nothing is ready
 *     trainer_gradient(&run->trainer, &step);      buckets leave as they fill
 *     ddp_wait(ddp, &run->fail);                   all have come back, reduced
 *
 * Between ddp_wait and ddp_begin the communicator may be used for other calls.
 */
#ifndef LESSON03_DDP_H
#define LESSON03_DDP_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"
#include "lesson03_ddp/bucket.h"
#include "lesson03_ddp/compress.h"
#include "lesson03_ddp/worker.h"

enum { DDP_OTHER = MODEL_TENSORS_MOST }; // a job below is a bucket

struct ddp {
    struct comm *comm;
    const struct model *model;
    float *grad;                                    // the slab the buckets are slices of
    int (*reduce)(struct ddp *ddp, size_t bucket);  // what is done to a full bucket, by the worker
    void (*submit)(struct ddp *ddp, size_t bucket); // how one reaches the worker; NULL: as it is
    int (*other)(struct ddp *ddp, size_t job);      // jobs from DDP_OTHER on: lesson 4's
    void *owner;                                    // of these three
    bool compresses;                                // buckets travel as bf16
    struct compress compress;
    bool overlap;          // false: buckets leave only after backward, in the same order
    bool find_unused;      // a tensor that gets no gradient counts as ready: it is 0
    const size_t *updates; // made so far: the step at hand, to be named
    struct bucket_plan plan;
    struct worker worker;
    struct mistakes *mistakes; // that are planted; NULL: none
    struct trace *trace;       // of buckets under way and tensors ready; NULL: off

    size_t missing[MODEL_TENSORS_MOST]; // tensors each bucket still waits for
    bool ready[MODEL_TENSORS_MOST];     // tensors that were announced
    struct bucket_order seen;           // in which order
    size_t next;                        // the bucket that is submitted next
    size_t handed_over;                 // buckets submitted while a gradient was still missing
    size_t begun_at_end;                // buckets already under way when backward ended
    bool unused;  // some tensor got no gradient, and find_unused is not on: its bucket never fills
    bool rebuilt; // the plan is of the order seen in the first step (rebuild.h)
};

/* Plans the buckets of the run's gradient, as its options say, and starts the thread. A resumed run's
 * are those of its earlier steps, rebuilt (rebuild.h). From
 * ddp_begin to ddp_wait nobody else may use comm. 0, or an error that run->fail tells. */
int ddp_init(struct ddp *ddp, struct run *run, struct comm *comm);

/* The same with a slab and a reduction of the caller's: ddp->grad and ddp->reduce are set,
 * and memory is filed in a ledger of its own. */
int ddp_init_over(struct ddp *ddp, struct run *run, struct comm *comm, struct memory *memory);

/* Elements of the longest bucket that any plan of this model may have. */
size_t ddp_longest_bucket(const struct options *options, const struct model *model);

/* What --compress and --error-feedback ask for, with room for any bucket of the run. 0, or an error
 * that run->fail tells. */
int ddp_compress_init(struct compress *compress, struct run *run, struct memory *memory);
void ddp_stop(struct ddp *ddp); // ends the thread; accepts one that was never started

/* Plans the buckets anew, from this order. Between ddp_wait and ddp_begin, on every rank alike. */
void ddp_plan(struct ddp *ddp, const struct run *run, const struct bucket_order *order);

/* What a trainer's listener is set to, so that backward reports to ddp. ddp_init sets the run's. */
struct model_listener ddp_listener(struct ddp *ddp);

/* A new step: nothing is ready, seen or handed over, and the worker is reset. */
void ddp_begin(struct ddp *ddp);

/* 0, or the first error: -EINVAL in `fail`, naming tensor, rank and step, when some tensor was never
 * announced; the other ranks are told at once, and stop too. Else comm_fail tells. */
int ddp_wait(struct ddp *ddp, struct fail *fail);

/* Tells the run what was sent so far, and how long the thread was busy in this step. */
void ddp_account(const struct ddp *ddp, struct run *run);

/* Writes into the trace that a bucket's way over the network ends here. */
void ddp_record(const struct ddp *ddp, enum trace_kind kind, size_t index, double began_seconds);

/* What lesson 3 does to a bucket: lesson 2's all-reduce, unchanged; or compress.h's. 0 or the
 * communicator's error. */
int ddp_allreduce(struct ddp *ddp, size_t bucket);

#endif
