/*
 * metrics: a run's numbers as JSON lines, one object per update, per epoch, and one for the run.
 *
 * Lines and their file: jsonl.h.
 *
 * Where an update's time goes, on this rank:
 *
 *     compute   forward and backward: from the first sample fetched to the last layer's gradient
 *     comm      while somebody worked at a collective of gradients or parameters: lesson 2's
 *               all-reduce; lesson 3's thread from a bucket's begin to its end; lesson 4's thread,
 *               and the all-gather after the update
 *     exposed   while the training thread could do nothing but wait for these: from the end of
 *               backward to the sum of the gradients; and lesson 4's all-gather
 *
 *     overlap efficiency = 1 - exposed / comm: how much of the communication backward has hidden.
 *     0 when all of it was waited for (lesson 2, --no-overlap), null when nothing was sent.
 *
 * The ranks' exchange of a few numbers (the loss) is in `seconds` alone. Epochs and the summary say
 * means over their updates, the verified ones left out.
 */
#ifndef COMMON_METRICS_H
#define COMMON_METRICS_H

#include "common/environment.h"
#include "common/fail.h"
#include "common/jsonl.h"
#include "common/memory.h"

#include <stdbool.h>
#include <stddef.h>

enum { METRICS_PATH_BYTES = RANK_PATH_BYTES, METRICS_LINE_BYTES = 1536 };

struct metrics {
    struct jsonl file; // off: every call does nothing
};

/* Of an update whose optimizer's state is in a file (lesson 4, --offload). */
struct metrics_offload {
    size_t read_bytes, written_bytes;
    double seconds; // of the optimizer's part of the update
};

struct metrics_step {
    size_t step, epoch;
    double lr;
    double loss;       // mean over the update's samples of all ranks
    double loss_local; // over this rank's
    size_t samples;    // of all ranks
    double grad_norm;  // of the reduced gradient, before clipping
    size_t skipped;    // updates not made so far
    double loss_scale; // 0: training in float, and neither of these two is written
    double flushed;    // share of this rank's gradients on their way down that rounding made 0
    double seconds;    // the whole update
    double compute_seconds, comm_seconds, exposed_seconds, overlap_efficiency; // see above
    size_t bytes_sent, messages_sent;      // by this rank, in this update
    const struct metrics_offload *offload; // NULL: none, and nothing of it is written
};

/* Sums over the updates that are not verified. */
struct metrics_times {
    double compute_seconds, comm_seconds, exposed_seconds;
    size_t updates;
    bool sent; // did this rank send anything in one of them?
};

/* 1 - exposed / comm, within 0..1; NAN when nothing was sent. */
double metrics_overlap_efficiency(const struct metrics_times *times);

struct metrics_epoch {
    size_t epoch, step; // step: updates done so far
    double train_loss, test_loss;
    double test_accuracy; // 0..1; NAN for regression
    double samples_per_second;
    struct metrics_times times;
};

struct metrics_summary {
    int lesson, rank, world;
    size_t steps, epochs, samples;
    size_t skipped; // of the steps, how many made no update
    double seconds, samples_per_second;
    double train_loss, test_loss, test_accuracy;
    struct metrics_times times;
    size_t bytes_sent;
    struct memory memory;       // the ledger: what this rank keeps
    size_t recomputed_layers;   // that went forward again in backward
    size_t comparisons, failed; // of the verification
};

/* Opens `path`; with a world above 1, path with ".rank-R" before its extension. NULL: off. Of what is
 * there the lines of the updates before `step` are kept, where the run goes on; at 0, none. 0, or a
 * negative error naming the file. */
int metrics_open(struct metrics *metrics, const char *path, const struct environment *environment,
                 size_t step, struct fail *fail);

/* 0, or a negative error naming the file: a full disk is told at the line it cost. */
int metrics_step(struct metrics *metrics, const struct metrics_step *step, struct fail *fail);
int metrics_epoch(struct metrics *metrics, const struct metrics_epoch *epoch, struct fail *fail);
int metrics_summary(struct metrics *metrics, const struct metrics_summary *summary,
                    struct fail *fail);

/* Ends in a closed one, which is off; accepts one. 0, or a negative error naming the file. */
int metrics_close(struct metrics *metrics, struct fail *fail);

#endif
