/*
 * run: all that stands around the step and is the same in every lesson.
 *
 * A lesson's main.c shows the step itself; a run brings what the step needs (options, data, model,
 * sampler, optimizer) and keeps what comes of it (loss, metrics, progress, dumps, checkpoints).
 *
 *     run_open    options, data, model, parameters: refuses bad input before anything is started
 *     run_start   optimizer over the slices this rank owns, resumed state, output files
 *     run_next    the next step, until there is none
 *     run_loss    the mean loss over all ranks. When it or the reduced gradient is not finite, every rank
 *                 stops, or none makes this update
 *     run_rate    learning rate and clipping of this update; stops at a gradient that is not finite
 *     run_record  metrics, progress, dump, evaluation at an epoch's end, checkpoint
 *     run_close   says how it ended; the program's exit code
 *
 * Several processes differ from one in a single point: how a few numbers of each rank reach all the
 * others. That is `gather`, which lesson 1 leaves NULL.
 */
#ifndef LESSON01_RUN_H
#define LESSON01_RUN_H

#include "common/environment.h"
#include "common/metrics.h"
#include "common/options.h"
#include "common/plot.h"
#include "common/profile.h"
#include "common/progress.h"
#include "common/proof.h"
#include "common/record.h"
#include "common/trace.h"
#include "lesson01_single/checkpoint.h"
#include "lesson01_single/look.h"
#include "lesson01_single/loss_scale.h"
#include "lesson01_single/mistakes.h"
#include "lesson01_single/optimizer.h"
#include "lesson01_single/trainer.h"

enum exit_code { EXIT_SUCCEEDED, EXIT_RUN_FAILED, EXIT_USAGE, EXIT_NOT_EQUAL };

struct run {
    struct options options;
    struct environment environment; // rank 0 of 1 in lesson 1
    struct fail fail;
    bool unheard;             // the failure is this rank's own, and no other can know of it
    enum exit_code exit_code; // of a failure at this point
    struct memory memory;     // what this rank trains with
    struct memory proving;    // verification's copies, which training does not need
    struct memory kept;       // memory, as it was after the last update

    struct dataset train, test;
    struct sampler sampler;
    struct model model;
    struct slice whole;                       // the whole slab
    struct slice trained[MODEL_TENSORS_MOST]; // what of it is trained: all, unless frozen
    size_t trained_count;
    float *param, *grad; // slabs; where the optimizer's are packed, of what this rank owns
    float *frozen[MODEL_TENSORS_MOST]; // where param is packed: frozen tensors, whole; else NULL
    struct trainer trainer;
    size_t activation_bytes; // what the ledger says it keeps
    struct optimizer optimizer;
    struct loss_scale scale;
    bool skip;             // this step's loss or gradient is not finite: no update, on no rank
    int culprit;           // whose own is not; -1: nobody's, or nobody looked
    size_t skips;          // of this process so far
    size_t skips_in_a_row; // up to now, that no smaller loss scale answers
    double used_scale;     // of the last step
    size_t updates;        // the whole run's
    size_t verified_from;  // the first step of this process

    /* all (world * count) = every rank's mine (count), in rank order. */
    int (*gather)(void *context, const double *mine, size_t count, double *all, struct fail *fail);
    /* Points *whole to the slab of parameters (model.count), until the next call; NULL where param is it. */
    int (*gather_param)(void *context, const float **whole, struct fail *fail);
    void *context, *param_context;       // of the first, and of the second
    const struct optimizer_store *store; // of the optimizer's states; NULL: they are in memory
    struct checkpoint_source source;     // what the run goes on from; of lesson 0: nothing
    const struct optimizer_store *param_store; // of packed parameters; NULL: they are in param
    struct mistakes mistakes;                  // what --inject plants
    struct proof proof;
    struct metrics metrics;
    struct progress progress;
    struct plot plot;  // of rank 0, where it was asked for
    const char *claim; // what verification shows, for the last line

    struct trace *trace;     // NULL: off; else it is the one below
    struct profile *profile; // likewise
    struct trace kept_trace;
    struct profile kept_profile;
    struct look *look; // NULL: off; else it is the one below
    struct look kept_look;
    struct record record;
    struct trace_event reduces; // lesson 2: what the network does until run_loss; else of kind 0

    double loss;     // of the last step: mean over all ranks' samples
    double norm, lr; // of its gradient, when run_norm was asked; of its update
    double train_loss, test_loss, accuracy; // of the last finished epoch
    size_t evaluated;                       // test samples this rank did of it
    double epoch_loss;                      // summed over samples of the epoch at hand
    size_t epoch_samples, samples;
    size_t timed_samples; // of the epoch's steps that were not verified: speed is theirs
    double timed_seconds;
    double began_seconds, step_seconds, training_seconds; // the first two on clock_seconds()
    double exposed_seconds; // from the end of backward to the reduced gradient
    double comm_seconds;    // set by a lesson whose communication overlaps; else as exposed
    size_t bytes_sent, messages_sent; // kept up to date by a lesson that sends
    size_t bytes_recorded, messages_recorded;
    struct metrics_times epoch_times, times; // of the epoch at hand, of the run
    struct metrics_offload offload;          // of the last step, where there is one (lesson 4)
    struct metrics_offload all_offload;      // of all steps that are in `times`
};

/* What the first weights are drawn from; and the parameters a run begins with, of a slice of the slab: what
 * --init says. 0, or an error. */
uint64_t run_weights_seed(const struct run *run);
int run_init_values(struct run *run, struct slice slice, float *values);

/* Copies a part of packed parameters, wherever they are kept. 0, or the store's error. */
int run_read_param(const struct run *run, struct slice part, float *values, struct fail *fail);

/* 0: go on. Else there is nothing to run (an error, --help): run_close says what is to be said. */
int run_open(struct run *run, int lesson, int argc, char **argv);

/* Its two halves: options, data, and what the model will be; then what is taken because of that. The
 * same outcomes. */
int run_prepare(struct run *run, int lesson, int argc, char **argv);
int run_build(struct run *run);
int run_start(struct run *run, const struct slice *owned, size_t owned_count);
int run_resume(struct run *run); // part of run_start: what --resume asks for
bool run_next(struct run *run, struct step *step);
int run_loss(struct run *run, const struct step *step);
double run_norm(struct run *run); // of grad; NaN when neither clipping nor metrics ask for it
bool run_wants_norm(const struct run *run);
int run_rate(struct run *run, const struct step *step, double norm, struct rate *rate);
int run_record(struct run *run, const struct step *step);

/* run_finite.c: a rank's numbers that run_loss shares, the loss first; how many there are. What all ranks'
 * say: loss and skip are set, or an error. Of an update that is made, after the verification. And does a rank
 * look at its own gradient? */
enum { RUN_LOSS_NUMBERS = 3 };
size_t run_finite_numbers(const struct run *run, double numbers[RUN_LOSS_NUMBERS]);
int run_finite_judge(struct run *run, const struct step *step, const double *all, size_t count);
void run_finite_keep(struct run *run);
bool run_finite_looks(const struct run *run);
bool run_finite_shares(const struct run *run); // several ranks: all the numbers, or the loss alone?

int run_close(struct run *run);

/* all (world * count) = every rank's mine (count), in rank order, in any lesson. 0 or an error. */
int run_share(struct run *run, const double *mine, size_t count, double *all);

/* A checkpoint of this run, to save it or to load into it. */
void run_checkpoint(struct run *run, bool loading, struct checkpoint *checkpoint);

/* Is this one of the steps to verify: the first that make an update? Ask after run_loss. */
bool run_verifies(const struct run *run, const struct step *step);

/* After a step was verified on all ranks: -ECANCELED, with a sentence, when something failed. */
int run_judge(struct run *run, const struct step *step);

#endif
