/*
 * trainer: the gradient of one step, and the loss of a whole data set.
 *
 * A step's gradient is the sum over its micro-batches; of each the trainer takes its rank's share.
 * Every sample is weighted by 1 / (samples of the step over all ranks) before it is summed, so that
 * the sum of all ranks' gradients is the gradient of the mean loss, even shares or not.
 *
 * Alone (rank 0 of 1) the share is the whole, and the gradient is complete when the call returns.
 */
#ifndef LESSON01_TRAINER_H
#define LESSON01_TRAINER_H

#include "common/dataset.h"
#include "common/sampler.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/layer_drop.h"
#include "lesson01_single/mistakes.h"
#include "lesson01_single/look.h"
#include "lesson01_single/model.h"

#include <stddef.h>

struct trainer {
    const struct model *model;
    const struct dataset *dataset;
    struct sampler *sampler;
    size_t rank, world;
    struct dropout dropout; // rate and seed; the rest is filled in
    struct layer_drop layer_drop;
    size_t recompute;            // keep every such activation only; 0 or 1: all
    float *param, *grad;         // slabs (model.count), the caller's; NULL: see places
    const struct places *places; // of what is not in the slabs; NULL: nothing
    struct precision precision;  // kind and scale; the rest is filled in
    struct activations activations;
    int32_t *labels;                // (rows) of the micro-batch at hand
    float *targets;                 // (rows, outputs)
    struct model_listener listener; // told of each tensor in the last micro-batch only
    bool looks;                     // at its gradient, tensor by tensor as they become final
    bool nonfinite;                 // of the last step: it saw one that is not finite
    double loss;                    // of the last step: this rank's samples' losses, summed
    size_t samples;                 // of the last step: this rank's share
    double seconds;                 // of the last step: what its gradient took
    double ended_seconds;           // and when backward was over, on clock_seconds()
    struct trace *trace;            // of the training passes; NULL: off
    struct profile *profile;        // likewise
    struct look *look;              // likewise
    struct mistakes *mistakes;      // that are planted; NULL: none
    struct memory *memory;
};

/* Copies `like`, whose fields up to grad and listener are set, and takes room for micro-batches of
 * up to `rows` samples, at least 1. 0 or -ENOMEM. */
int trainer_init(struct trainer *trainer, const struct trainer *like, size_t rows,
                 struct memory *memory);
void trainer_release(struct trainer *trainer); // accepts a zeroed struct

/* What a gradient at the present parameters is computed with: param, or a copy that is rounded anew. */
const float *trainer_load_weights(struct trainer *trainer);

/* grad = this rank's part of the step's gradient. Sets loss and samples. */
void trainer_gradient(struct trainer *trainer, const struct step *step);

/* Over some samples of any data set of the model's shape. */
struct totals {
    double loss;    // summed over samples
    size_t correct; // classification only
    size_t samples;
};
struct totals trainer_evaluate(struct trainer *trainer, const struct dataset *dataset,
                               struct slice samples);

/* How many forward passes that takes; and the same in more of them, the last ones over no samples.
 * Ranks that exchange something in a forward must all go forward equally often. */
size_t trainer_passes(const struct trainer *trainer, size_t samples);
struct totals trainer_evaluate_in(struct trainer *trainer, const struct dataset *dataset,
                                  struct slice samples, size_t passes);

#endif
