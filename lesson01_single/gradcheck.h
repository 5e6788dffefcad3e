/*
 * gradcheck: lesson 1's proof. Is backward's gradient the slope of the loss?
 *
 *     slope(h) = (L(w + h) - L(w - h)) / 2h
 *
 * L is the step's mean loss, computed in double by the reference, which has no backward to be wrong
 * together with. The slope's own error is estimated, not assumed: |slope(h) - slope(2h)| for the
 * terms left out, and the rounding of L over h. Where the two sides of a ReLU's kink would be
 * compared, the element is passed over and another is taken.
 */
#ifndef LESSON01_GRADCHECK_H
#define LESSON01_GRADCHECK_H

#include "common/compare.h"
#include "lesson01_single/bound.h"
#include "lesson01_single/run.h"

struct gradcheck {
    struct bound bound;
    struct compare compare; // of the last run
    size_t kinks;           // elements passed over in the last run
};

/* 0 or -ENOMEM. Release accepts a zeroed struct. */
int gradcheck_init(struct gradcheck *check, const struct model *model, struct memory *memory);
void gradcheck_release(struct gradcheck *check);

/* Compares some elements of each tensor of trainer->grad, as many as a moment's time allows, drawn
 * by the step's number. The step must be the one the gradient is of, on one rank of one. */
void gradcheck_step(struct gradcheck *check, struct trainer *trainer, const struct step *step);

/* That, and the verification line. 0, or an error when the gradient is not the slope. */
int gradcheck_prove(struct gradcheck *check, struct run *run, const struct step *step);

#endif
