/*
 * record: what a run was asked for and what it did, for whoever looks at it afterwards. --record DIR.
 *
 * DIR/rank-R.jsonl, one JSON object a line, of every rank R:
 *
 *     start   options, tensors, what this rank holds before the first update
 *     step    after each update: what it was made of
 *     epoch   after each epoch: the order of samples, losses, what was evaluated
 *     end     when the process ends by itself: its exit code. A killed one has none
 *
 * DIR/rank-R.now says what the rank waits for at this moment, if it does (now.h; comm.h says the text).
 *
 * 64-bit hashes are texts of 16 hexadecimal digits. A list of tensors holds [sum, squares] of each: sketch.h.
 * Of the first steps of a process, and of every 64th, a step line has these as well: of the gradient before
 * and after the reduction, of the new parameters. All numbers are of the variables that were used.
 *
 * A step's line may be kept back for two milliseconds, but no longer than until its rank waits for another.
 * So a process that is killed loses a moment's, and one that hangs none.
 *
 * A run that goes on after --resume cuts the lines of what it does again, and writes a new start.
 */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H

#include "common/environment.h"
#include "common/fail.h"
#include "common/jsonl.h"
#include "common/memory.h"
#include "common/now.h"
#include "common/options.h"
#include "common/proof.h"
#include "common/sketch.h"
#include "common/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_VERSION = 1,
    RECORD_LINE_BYTES = 32768, // no line is longer; kept is one more
    RECORD_BUFFER_BYTES = 2 * RECORD_LINE_BYTES,
    RECORD_LOOKS_FIRST = 8, // steps of a process that are looked at more closely: so many at first,
    RECORD_LOOKS_EVERY = 64, // then each whose number is a multiple
};
extern const char record_format[]; // "sgd-to-zero-record"

struct record {
    struct jsonl file; // off: every call does nothing
    struct now now;    // what this rank waits for: DIR/rank-R.now
    struct jsonl_line line;
    struct memory *memory;
    double written_seconds; // when lines were written last, on clock_seconds()
    int error;              // of the first line that could not be written; none is after it
};

struct record_tensor {
    const char *name;
    struct slice slice; // of the slab
    bool decays, frozen;
};

struct record_start {
    const struct options *options;
    const struct environment *environment;
    size_t first, updates; // the update that comes next; of the whole run
    size_t steps_per_epoch;
    size_t train_samples, test_samples, parameters;
    size_t tensor_count;
    const struct record_tensor *tensors; // (tensor_count)
    size_t owned;                        // elements this rank's optimizer owns
    const uint64_t *param_hash;          // of all parameters; NULL: it has not all
    const struct sketch *param;          // (tensor_count): of what it owns
    double state_norm;                   // of the optimizer's states; NAN: it has none
    uint64_t weights, shuffle, dropout;  // of the first numbers of these streams
    const struct memory *ledger;         // what this rank keeps
};

/* What is measured at some steps only. Sketches (tensor_count), of what this rank owns but for raw. */
struct record_look {
    size_t tensor_count;
    const struct sketch *raw;     // this rank's own gradient, as it became final
    const struct sketch *reduced; // what the optimizer was given; NULL: no update was made
    const struct sketch *param;   // after the update
    const uint64_t *param_hash;   // of all parameters; NULL: it has not all
    const uint64_t *dropout_mask; // of the first rows' first hidden units; NULL: none is drawn
    size_t decayed;               // elements the optimizer decayed
};

enum record_answer { RECORD_NO, RECORD_YES, RECORD_UNKNOWN };

struct record_step {
    size_t step, epoch;
    double lr, loss, loss_local; // loss: as it is reported
    size_t samples;              // of all ranks, as this one believes
    size_t samples_local;
    uint64_t seen;                     // sum of sketch_mix(index + 1) over the samples
    double weight_least, weight_most;  // of a sample in the loss; NAN: there was none
    size_t micro_batches, handed_over; // in which of them, from 1, gradients were final; 0: in none
    bool updated;
    enum record_answer nonfinite; // this rank's own gradient
    double clip;                  // what the gradient was multiplied by; NAN: no update
    double grad_norm;
    double seconds, compute_seconds, comm_seconds, exposed_seconds;
    size_t bytes_sent;
    const struct record_look *look; // NULL: not at this step
    const struct proof *proof;      // the comparisons it has kept are this step's
};

struct record_epoch {
    size_t epoch, step; // step: updates done so far
    uint64_t order;     // of the samples' order
    uint64_t seen;      // of this rank's steps of the epoch in this process, added
    size_t seen_count;
    double train_loss, test_loss, test_accuracy;
    size_t evaluated; // samples this rank evaluated
};

/* Makes DIR if need be and opens this rank's file, `step` updates being made already. Rank 0 removes what ranks
 * that are no more have left there. NULL: off. 0, or a negative error naming the file: also when it is
 * something else than a record. */
int record_open(struct record *record, const char *directory, const struct environment *environment,
                size_t step, struct memory *memory, struct fail *fail);

/* Is this step one to look at more closely? `made` of this process came before it. */
bool record_looks(const struct record *record, size_t step, size_t made);

/* 0, or a negative error naming the file. What record_start could not write the next line tells. */
void record_start(struct record *record, const struct record_start *start);
int record_step(struct record *record, const struct record_step *step, struct fail *fail);
int record_epoch(struct record *record, const struct record_epoch *epoch, struct fail *fail);
int record_end(struct record *record, int exit_code, size_t steps, const struct proof *proof,
               struct fail *fail); // proof: those of a step that did not come to its end

/* Before this rank waits for others, with what now.h is to say, and with "" when it goes on. Lines that are not
 * written yet are. Of any thread, while no other calls. */
void record_wait(struct record *record, const char *text);

/* Accepts one that is off, or zeroed. 0, or a negative error naming the file. */
int record_close(struct record *record, struct fail *fail);

/* ,"memory":{...} and, where there are any, ,"proof":[...]; in record_proof.c. */
void record_ledger(struct jsonl_line *line, const struct memory *ledger);
void record_proofs(struct jsonl_line *line, const struct proof *proof);

/* {"data":"digits", ...,"given":["steps", ...]}: every flag of the options' lesson and what it was set to; in
 * record_options.c. */
void record_options(struct jsonl_line *line, const struct options *options);

#endif
