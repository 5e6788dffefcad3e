/*
 * look: what is measured of a step while it is made, for --record.
 *
 * The places that make a step tell it what they do, with the very variables they do it with, so that a mistake
 * there shows here. At steps that are due it takes sketches of gradients too: that costs a pass over them.
 *
 *     trainer     look_rows     samples of a micro-batch, and what each counts for
 *                 look_final    a tensor's gradient, before anybody reduces it
 *     dropout     look_mask     what is left out of the first rows
 *     optimizer   look_update   what a part of a tensor is updated with
 *                 look_count    the update is made, or skipped
 *
 * A NULL look is off: every call does nothing.
 */
#ifndef LESSON01_LOOK_H
#define LESSON01_LOOK_H

#include "common/sketch.h"
#include "lesson01_single/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look {
    bool due;     // gradients and parameters are looked at in this step
    size_t steps; // of this process, before this one

    uint64_t seen;                     // sum of sketch_mix(index + 1) over this rank's samples
    size_t samples;                    // how many
    double weight_least, weight_most;  // of a sample in the loss; NAN: there was none
    size_t micro_batches, handed_over; // in which of them, from 1, gradients became final
    struct sketch raw[MODEL_TENSORS_MOST];

    uint64_t mask;    // which units of the first hidden layer take part, of the first rows
    size_t mask_rows; // how many: 0 without dropout

    struct sketch reduced[MODEL_TENSORS_MOST], param[MODEL_TENSORS_MOST];
    bool updated;
    double clip;
    size_t decayed; // elements

    uint64_t epoch_seen; // of the epoch's steps in this process
    size_t epoch_samples;
};

void look_begin(struct look *look, bool due); // a step

/* The samples' indices (rows), and the weight of each without any loss scale. */
void look_rows(struct look *look, const uint32_t *samples, size_t rows, double weight);
void look_final(struct look *look, const struct model *model, size_t tensor, const float *grad);

/* Is this row of the step's first micro-batch one whose mask is told, unit by unit, with what follows? */
bool look_wants_mask(struct look *look, size_t layer, size_t row);
void look_mask(struct look *look, size_t unit, bool kept);

/* `part` of the slab, of tensor `tensor`, is updated with `grad` (part.count). */
void look_update(struct look *look, size_t tensor, struct slice part, const float *grad,
                 bool decays);
void look_count(struct look *look, bool updated, double clip);

#endif
