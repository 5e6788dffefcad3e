/*
 * model: a multi-layer perceptron over one slab of parameters.
 *
 * The slab holds the tensors one after another, without gaps, in the order of registration; the
 * slab of gradients has the same layout. Names and shapes are those of a PyTorch module with
 * attributes fc1, fc2, ...:
 *
 *     | fc1.weight (out, in) | fc1.bias (out) | fc2.weight | fc2.bias | ...
 *      0                      out*in                                    count
 *
 * Forward keeps each layer's output; backward walks from the last layer to the first and announces
 * every tensor whose gradient is final. The gradient with respect to the input is never computed.
 */
#ifndef LESSON01_MODEL_H
#define LESSON01_MODEL_H

#include "common/memory.h"
#include "common/options.h"
#include "common/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_LAYERS_MOST = OPTIONS_HIDDEN_MOST + 1, MODEL_TENSORS_MOST = 2 * MODEL_LAYERS_MOST };

struct tensor {
    char name[24];      // "fc1.weight"
    size_t dimensions;  // 2 for a weight, 1 for a bias
    size_t shape[2];    // (out, in) or (out)
    struct slice slice; // where it lies in the slab
    bool decays;        // weight decay applies: weights, not biases
};

struct model {
    size_t layers;
    size_t widths[MODEL_LAYERS_MOST + 1]; // of the input, of each layer's output
    bool bias;
    struct tensor tensors[MODEL_TENSORS_MOST];
    size_t tensor_count;
    size_t count; // parameters
};

/* Lays the slab out. layers is 1 to MODEL_LAYERS_MOST; widths (layers + 1), each at least 1. */
void model_plan(struct model *model, const size_t *widths, size_t layers, bool bias);

/* The tensor that element `element` of the slab belongs to; element < model->count. */
const struct tensor *model_tensor_at(const struct model *model, size_t element);

/* The same weights on every rank and machine: U(-a, a) with a = sqrt(6 / in), biases 0 (He et al.,
 * "Delving Deep into Rectifiers", ICCV 2015, section 2.2, as a uniform distribution). */
void model_init_he(const struct model *model, float *param, uint64_t seed);

/* What forward keeps for backward. */
struct activations {
    size_t capacity;                 // rows there is room for
    float *a[MODEL_LAYERS_MOST + 1]; // (capacity, widths[l]); a[0] is the input
    float *d[2];                     // (capacity, widest hidden layer): gradients on their way down
};

/* 0 or -ENOMEM. Release accepts a zeroed or half-built struct, and needs the same model. */
int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory);
void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory);

/* a[layers] (rows, outputs) from a[0] (rows, widths[0]); rows may be 0. */
void model_forward(const struct model *model, const float *param, struct activations *activations,
                   size_t rows);

/* Told of a tensor's index once its gradient is final. */
struct model_listener {
    void (*on_ready)(void *context, size_t tensor); // NULL: nobody listens
    void *context;
};

/* Adds to grad (count) the gradient of the loss. a[layers] holds dloss/doutput. Tensors are
 * announced in reverse order of registration, bias before weight. */
void model_backward(const struct model *model, const float *param, struct activations *activations,
                    size_t rows, float *grad, const struct model_listener *listener);

#endif
