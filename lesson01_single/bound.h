/*
 * bound: how far float arithmetic may carry a step's gradient from the true one, element by
 * element.
 *
 * Two programs that add the same numbers in another order get other bits. How other may they be
 * before it is a mistake? Running error analysis answers (Higham, "Accuracy and Stability of
 * Numerical Algorithms", 2nd ed., sections 3.1 and 3.3): beside each value v it carries a bound e
 * on the error of its float counterpart, with u = 2^-24 and gamma(n) = n u / (1 - n u) for n
 * roundings:
 *
 *     z = W a + b           e(z) = |W| e(a) + gamma(in + 1) (|W| (|a| + e(a)) + |b|)
 *     max(z, 0)             no larger error; but where |z| <= e(z) its gradient may pass or not
 *     m a                       e(m a) = m e(a) + u m (|a| + e(a)) where dropout has an m but 1
 *     p = softmax(z)        e(p) = p (exp(2 max e(z)) - 1) + p (outputs + 5 + 4 max |z|) u, <= 1
 *     dx = W^T dy           e(dx) = |W|^T e(dy) + gamma(out) |W|^T (|dy| + e(dy))
 *     dW = sum dy a         e(dW) = sum (e(dy) (|a| + e(a)) + |dy| e(a))
 *                                   + gamma(n) sum (|dy| + e(dy)) (|a| + e(a))
 *
 * and each product may lose 2^-149 more, where it is too small for a float.
 *
 * With --precision the W are the rounded ones, and each stored a and dy is rounded to p bits: e grows
 * by 2^-p (|v| + e) + half the type's smallest number; of dy, which is stored scale times as large,
 * that / scale. Nothing may overflow.
 *
 * It holds for any order of addition, with or without fused multiply-add. Two float computations of
 * one gradient differ by at most twice the bound.
 */
#ifndef LESSON01_BOUND_H
#define LESSON01_BOUND_H

#include "lesson01_single/reference.h"
#include "lesson01_single/trainer.h"

struct bound {
    struct reference reference;
    double *e[MODEL_LAYERS_MOST + 1];   // (widths[l]): bounds on the errors of reference.a[l]
    double *d[MODEL_LAYERS_MOST + 1];   // (widths[l]): gradients with respect to a layer's output
    double *e_d[MODEL_LAYERS_MOST + 1]; // (widths[l]): bounds on their errors
    double *gradient;                   // (count): the true one, up to a double's rounding
    double *size;                       // (count): sum of (|dy| + e(dy)) (|a| + e(a))
    double *bound;                      // (count): the result
    double unit, least;                 // of rounding what is stored; 0 in float
    double scale;                       // of the loss
};

/* 0 or -ENOMEM. Release accepts a zeroed or half-built struct. */
int bound_init(struct bound *bound, const struct model *model, struct memory *memory);
void bound_release(struct bound *bound);

/* Fills bound->bound for the whole step (all ranks, all micro-batches), at the trainer's present
 * parameters. The gradient may be added up over `world` ranks. */
void bound_step(struct bound *bound, struct trainer *trainer, const struct step *step);

#endif
