/*
 * precision: what training in 16 bits does to the numbers, in float arithmetic.
 *
 *     master weights    float; the optimizer knows no others
 *     weights           a copy, rounded once per update
 *     activations       the input and every layer's output, rounded
 *     gradients         with respect to a layer's output, rounded on their way down
 *     dW, db            sums of products, in float
 *
 * A product of two such numbers is exact in float, unless it underflows, and tensor units add up in
 * float as well: so these are the numbers such a unit would work on. No time is saved here. Micikevicius et al.,
 * "Mixed Precision Training", ICLR 2018. What a gradient loses by being too small is counted.
 */
#ifndef LESSON01_PRECISION_H
#define LESSON01_PRECISION_H

#include "common/options.h"

#include <stddef.h>

struct loss_scale;

struct precision {
    enum precision_kind kind;       // float: nothing is rounded, nothing counted
    const struct loss_scale *scale; // what the gradients on their way down are multiplied by
    float *param;                   // (model.count): the rounded copy; NULL in float
    size_t nonzero;                 // gradients on their way down in the last step, not 0;
    size_t flushed;                 // of these, how many became 0
};

/* x (count) in place. precision may be NULL: float. */
void precision_round(const struct precision *precision, float *x, size_t count);

/* The same of gradients on their way down: counted. */
void precision_round_gradient(struct precision *precision, float *dy, size_t count);

/* Of a rounding to the type: an error of at most unit |x| + least, unless x is too large; 0 in float.
 * half.h. */
double precision_unit(enum precision_kind kind);
double precision_least(enum precision_kind kind);

#endif
