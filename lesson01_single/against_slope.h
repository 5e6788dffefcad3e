/*
 * against_slope: lesson 1's proof. Is backward's gradient the slope of the loss?
 *
 *     slope(h) = (L(w + h) - L(w - h)) / 2h
 *
 * L is the step's mean loss, computed in double by the reference, which has no backward to be wrong
 * together with. The slope's own error is estimated, not assumed: |slope(h) - slope(2h)| for the
 * terms left out, and the rounding of L over h. Where the two sides of a ReLU's kink would be
 * compared, the element is left out, and the line says so.
 */
#ifndef LESSON01_AGAINST_SLOPE_H
#define LESSON01_AGAINST_SLOPE_H

#include "common/compare.h"
#include "lesson01_single/bound.h"
#include "lesson01_single/run.h"

enum { AGAINST_SLOPE_MOST = 2 * MODEL_TENSORS_MOST }; // elements compared at once

/* All but `bound`: of the last comparison. */
struct against_slope {
    struct bound bound;
    struct compare compare;
    size_t kinks;                       // elements left out
    size_t element[AGAINST_SLOPE_MOST]; // (compare.count): which, of the slab
    float found[AGAINST_SLOPE_MOST], expected[AGAINST_SLOPE_MOST]; // (compare.count)
};

/* Takes no memory when nothing is to be verified. 0, or an error that run->fail tells. Release
 * accepts a zeroed struct. */
int against_slope_init(struct against_slope *against, struct run *run);
void against_slope_release(struct against_slope *against);

/* Compares some elements of each tensor of trainer->grad, as many as a moment's time allows, drawn
 * by the step's number. The step must be the one the gradient is of, on one rank of one. */
void against_slope_compare(struct against_slope *against, struct trainer *trainer,
                           const struct step *step);

/* That, the verification line, and where it first fails. 0, or an error when the gradient is not
 * the slope. */
int against_slope_gradient(struct against_slope *against, struct run *run, const struct step *step);

#endif
