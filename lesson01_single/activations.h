/*
 * activations: what forward keeps for backward.
 *
 *     a[0]  ->  fc1, ReLU  ->  a[1]  ->  fc2, ReLU  ->  a[2]  ->  fc3  ->  a[3]
 *     data                    hidden                   hidden             output
 *
 * A layer's gradient needs the layer's input, so forward keeps every a[l]. Two more arrays take
 * turns as the gradient on its way down.
 *
 * Or it keeps every K-th only, and backward computes the others again, forward from the one kept
 * below: less memory for more time. Between two that are kept the others have arrays too, but all
 * such stretches share them. K = 3, seven layers:
 *
 *     a[0]  .  .  a[3]  .  .  a[6]  a[7]     kept; the dots are two arrays, not four
 *           1  2        1  2                 after forward they hold a[4], a[5]
 *
 * Layers 6 to 3 find what they need. Before layer 2, a[1] and a[2] are computed again from a[0]. Chen
 * et al., "Training Deep Nets with Sublinear Memory Cost", 2016 (arXiv 1604.06174), section 4.
 */
#ifndef LESSON01_ACTIVATIONS_H
#define LESSON01_ACTIVATIONS_H

#include "common/memory.h"
#include "lesson01_single/model.h"

struct activations {
    size_t capacity;                 // rows there is room for
    size_t every;                    // K; 1: all are kept
    float *a[MODEL_LAYERS_MOST + 1]; // (capacity, widths[l]); a[0] is the input
    float *d[2];                     // (capacity, widest hidden layer)
    size_t held;                     // the shared arrays are now those above a[held]
    size_t recomputed;               // layers that went forward again, so far
};

/* How many floats a sample needs, when every K-th is kept. */
size_t activations_width(const struct model *model, size_t every);

/* Keeps all, or every K-th. 0 or -ENOMEM. Release accepts a zeroed or half-built struct, and needs the same model. */
int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory);
int activations_init_every(struct activations *activations, const struct model *model,
                           size_t capacity, size_t every, struct memory *memory);

/* After a forward over all layers: the shared arrays hold the uppermost stretch that has any. */
void activations_filled(struct activations *activations, size_t layers);

void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory);

#endif
