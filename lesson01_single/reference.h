/*
 * reference: the same network in double, one sample at a time, in plain loops.
 *
 * No BLAS, no batches, no backward: nothing here can be wrong in the way the real code can be. What
 * float arithmetic is held against (bound.h, against_slope.h).
 */
#ifndef LESSON01_REFERENCE_H
#define LESSON01_REFERENCE_H

#include "common/dataset.h"
#include "lesson01_single/model.h"

#include <stdint.h>

struct reference {
    const struct model *model;
    double *param;                    // (model.count)
    double *z[MODEL_LAYERS_MOST + 1]; // (widths[l]): of the last sample, before the ReLU
    double *m[MODEL_LAYERS_MOST + 1]; // (widths[l]): what dropout multiplied it by
    double *a[MODEL_LAYERS_MOST + 1]; // (widths[l]): after both; a[0] is the input
    struct dropout dropout;           // as in a pass, of the samples that follow; zeroed at first
    uint32_t skipped;
    struct memory *memory;
};

/* 0 or -ENOMEM. Release accepts a zeroed or half-built struct. */
int reference_init(struct reference *reference, const struct model *model, struct memory *memory);
void reference_release(struct reference *reference);

/* Takes over the parameters (model.count). */
void reference_load(struct reference *reference, const float *param);

/* Is this layer left out, of the samples that follow? */
bool reference_skips(const struct reference *reference, size_t layer);

/* Runs one sample of the data set forward; returns its loss. */
double reference_loss(struct reference *reference, const struct dataset *dataset, size_t index);

/* The cross-entropy's probabilities from outputs z, both (count). */
void reference_softmax(double *p, const double *z, size_t count);

/* Doubles through the ledger, filed under verification. */
double *reference_doubles(struct memory *memory, size_t count);
void reference_return(struct memory *memory, double *array, size_t count);

#endif
