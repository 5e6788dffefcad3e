/*
 * layer_drop: whole layers left out of an update at random.
 *
 *     y = x    with probability P, for hidden layers that have as many outputs as inputs
 *
 * Each rank tosses a coin for each such layer and each update: a function of (seed, rank, update,
 * layer) and of nothing else. It holds for all micro-batches of the update. A layer that is left out
 * gets no gradient on that rank: that is what it is for in lesson 3. Evaluation leaves nothing out.
 *
 * Huang et al., "Deep Networks with Stochastic Depth", ECCV 2016; Fan et al., "Reducing Transformer
 * Depth on Demand with Structured Dropout", ICLR 2020 (LayerDrop).
 */
#ifndef LESSON01_LAYER_DROP_H
#define LESSON01_LAYER_DROP_H

#include "lesson01_single/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer_drop {
    double rate; // P; 0: none is left out
    uint64_t seed;
};

/* May this layer be left out? A hidden layer of equal widths. */
bool layer_drop_may(const struct model *model, size_t layer);

/* May any? */
bool layer_drop_may_any(const struct model *model);

/* Bit l: layer l is left out of update `step` on this rank. */
uint32_t layer_drop_skipped(const struct layer_drop *drop, const struct model *model, size_t step,
                            size_t rank);

#endif
