/*
 * layer: a dense layer and a ReLU, forward and backward.
 *
 *     y = x W^T + b            dW = dy^T x     db = sum of dy over its rows     dx = dy W
 *     y = max(x, 0)            dx = dy where y > 0, else 0
 *
 * W is (out, in) as in PyTorch; a row of x or y is a sample. Gradients of parameters are added to
 * what is there: that is how micro-batches accumulate. No row is a valid number of rows.
 */
#ifndef LESSON01_LAYER_H
#define LESSON01_LAYER_H

#include "common/profile.h"

#include <stddef.h>

struct dense_shape {
    size_t rows, in, out;
    struct profile *profile; // of the matrix products: see matmul.h
};

/* y (rows, out) from x (rows, in), w (out, in), b (out) or NULL */
void dense_forward(float *y, const float *x, const float *w, const float *b,
                   struct dense_shape shape);

/* dw (out, in) += and db (out) +=, from dy (rows, out) and x (rows, in) */
void dense_backward_weight(float *dw, const float *dy, const float *x, struct dense_shape shape);
void dense_backward_bias(float *db, const float *dy, struct dense_shape shape);

/* dx (rows, in) from dy (rows, out) and w (out, in) */
void dense_backward_input(float *dx, const float *dy, const float *w, struct dense_shape shape);

/* In place; count elements. */
void relu_forward(float *y, size_t count);

/* dy in place; y is the ReLU's output. */
void relu_backward(float *dy, const float *y, size_t count);

#endif
