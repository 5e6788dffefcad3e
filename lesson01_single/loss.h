/*
 * loss: how wrong an output is, and the gradient that says which way is better.
 *
 *     cross-entropy    p = softmax(z)
 *                      loss = -log p[label]                 dz = p - onehot(label)
 *     squared error    loss = mean of (y - t)^2             dy = 2 (y - t) / outputs
 *
 * Each sample's gradient is multiplied by `weight` before anything is summed. With weight = 1 /
 * (samples of the update, over all ranks and micro-batches) the sum of all gradients is the
 * gradient of the mean loss, however the samples are spread. Nothing averages averages.
 */
#ifndef LESSON01_LOSS_H
#define LESSON01_LOSS_H

#include <stddef.h>
#include <stdint.h>

struct loss_shape {
    size_t rows, outputs;
};

/* Return the sum of the rows' losses, unweighted. z and y (rows, outputs) are replaced by their
 * gradients. labels (rows), t (rows, outputs). A NaN or a positive infinity
 * among a row's z makes NaN of the loss and of all that row's gradients, and of no other row's. */
double loss_cross_entropy(float *z, const int32_t *labels, float weight, struct loss_shape shape);
double loss_squared_error(float *y, const float *t, float weight, struct loss_shape shape);

/* Rows whose largest output is the label's. */
size_t loss_correct(const float *z, const int32_t *labels, struct loss_shape shape);

#endif
