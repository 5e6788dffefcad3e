/*
 * casebook: what all ranks of a run have recorded (--record DIR), read, checked and side by side.
 *
 *     DIR/rank-0.jsonl      start, step, step, ..., epoch, step, ..., end
 *     DIR/rank-1.jsonl      a resumed run has a start for each of its processes
 *
 * A diagnosis is only worth what its record is. So all of it is checked before anything is concluded: the
 * format and its version, that every rank is there and of the same run, that no line is cut and no step
 * missing, that a number is where a number must be. A record without an end is one of a run that did not end by
 * itself: what is whole of it is read.
 */
#ifndef DOCTOR_CASEBOOK_H
#define DOCTOR_CASEBOOK_H

#include "common/fail.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/sketch.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CASEBOOK_WORLD_MOST = 1024,
    CASEBOOK_TENSORS_MOST = 128,
    CASEBOOK_NAME_BYTES = 32,
    CASEBOOK_PATH_BYTES = 1024,
    CASEBOOK_LINE_MOST = 1 << 20, // bytes
};
static const char CASEBOOK_FORMAT[] = "sgd-to-zero-record";
enum { CASEBOOK_VERSION = 1 };

struct case_tensor {
    char name[CASEBOOK_NAME_BYTES];
    size_t begin, count;
    bool decays, frozen;
};

/* A 64-bit hash, unless the record has null. */
struct case_hash {
    bool there;
    uint64_t bits;
};

enum case_stream { STREAM_WEIGHTS, STREAM_SHUFFLE, STREAM_DROPOUT, STREAMS };

/* A process began. */
struct case_start {
    size_t first, updates; // its first step; of the whole run, when it is done
    size_t pid, owned;
    size_t trained, decaying; // parameters that it trains; of these, those that decay
    struct case_hash param_hash, streams[STREAMS];
    double state_norm; // NaN: the optimizer has no state
    size_t line;
    json_t *options; // as they were recorded
    struct options
        asked; // as the flags read them; a process that goes on may have been given others
    struct sketch *param; // (tensor_count): of what this rank owns
    bool has_ledger;
    struct memory ledger; // now_bytes and peak_total_bytes
};

/* What is measured of some steps only: (tensor_count) each. NaN where the record has null. */
struct case_look {
    struct case_hash param_hash, dropout_mask;
    size_t decayed;
    struct sketch *raw, *reduced, *param;
};

struct case_step {
    size_t step, epoch, samples, samples_local, micro_batches, handed_over;
    uint64_t seen;
    double lr, loss, loss_local, weight_least, weight_most, clip, grad_norm, seconds;
    double compute_seconds, comm_seconds, exposed_seconds; // NaN: not recorded
    bool updated, nonfinite;
    struct case_look *look; // or NULL
};

struct case_epoch {
    size_t epoch, step, seen_count, evaluated;
    uint64_t order, seen;
    double train_loss, test_loss, test_accuracy;
};

struct case_rank {
    char path[CASEBOOK_PATH_BYTES];
    struct case_start *starts;
    struct case_step *steps;
    struct case_epoch *epochs;
    size_t start_count, step_count, epoch_count;
    json_t *proofs; // of verification, in order: {step, what, how, holds}; NULL: none
    bool ended;
    size_t exit_code, steps_at_end; // when it ended
};

struct casebook {
    const char *folder; // the caller's
    int lesson;
    size_t world, updates, steps_per_epoch, train_samples, test_samples, parameters;
    struct case_tensor tensors[CASEBOOK_TENSORS_MOST];
    size_t tensor_count;
    struct options options;  // of the first process: seed, batch and order are all processes'
    struct case_rank *ranks; // (world)
    size_t rank_count;       // read so far
};

/* 0; -ENOENT, -EINVAL, -ENOMEM, or what the system said, and in `fail` the file, the line, what was expected and found, and
 * what to try. Close whatever the outcome. */
int casebook_open(struct casebook *book, const char *folder, struct fail *fail);
void casebook_close(struct casebook *book); // accepts a zeroed one

/* Steps that every rank has: the k-th of all, k < casebook_steps. */
size_t casebook_steps(const struct casebook *book);

/* The process that step belongs to, by its number among the starts. */
size_t casebook_process(const struct casebook *book, size_t step);

/* What was asked of that process. */
const struct options *casebook_options(const struct casebook *book, size_t step);

#endif
