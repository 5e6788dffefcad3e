/*
 * activations: what forward keeps for backward.
 *
 *     a[0]  ->  fc1, ReLU  ->  a[1]  ->  fc2, ReLU  ->  a[2]  ->  fc3  ->  a[3]
 *     data                    hidden                   hidden             output
 *
 * A layer's gradient needs the layer's input, so forward keeps every a[l]. Two more arrays take
 * turns as the gradient on its way down.
 */
#ifndef LESSON01_ACTIVATIONS_H
#define LESSON01_ACTIVATIONS_H

#include "common/memory.h"
#include "lesson01_single/model.h"

struct activations {
    size_t capacity;                 // rows there is room for
    float *a[MODEL_LAYERS_MOST + 1]; // (capacity, widths[l]); a[0] is the input
    float *d[2];                     // (capacity, widest hidden layer)
};

/* 0 or -ENOMEM. Release accepts a zeroed or half-built struct, and needs the same model. */
int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory);
void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory);

#endif
