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
 * Forward goes up layer by layer: a dense product; but for the last layer then the ReLU, and in
 * training dropout. Backward takes each layer's steps back in reverse, from the last layer to the
 * first, and announces every tensor whose gradient is final. Below the lowest layer that learns it
 * does not go: the gradient with respect to the data is never computed.
 */
#ifndef LESSON01_MODEL_H
#define LESSON01_MODEL_H

#include "common/options.h"
#include "common/profile.h"
#include "common/slice.h"
#include "common/trace.h"
#include "lesson01_single/dropout.h"
#include "lesson01_single/precision.h"

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_LAYERS_MOST = OPTIONS_HIDDEN_MOST + 1, MODEL_TENSORS_MOST = 2 * MODEL_LAYERS_MOST };

struct tensor {
    char name[24];      // "fc1.weight"
    size_t dimensions;  // 2 for a weight, 1 for a bias
    size_t shape[2];    // (out, in) or (out)
    struct slice slice; // where it lies in the slab
    bool decays;        // weight decay applies: weights, not biases
    bool frozen;        // gets no gradient and no update (freeze.h)
    size_t uses;        // layers that use it: 1, unless tied (tie.h)
    size_t last_use;    // the lowest of them: backward comes there last
};

struct model {
    size_t layers;
    size_t widths[MODEL_LAYERS_MOST + 1]; // of the input, of each layer's output
    bool bias;
    struct tensor tensors[MODEL_TENSORS_MOST];
    size_t tensor_count;
    size_t count;                        // parameters
    size_t weight_of[MODEL_LAYERS_MOST]; // each layer's tensors, by index
    size_t bias_of[MODEL_LAYERS_MOST];   // where there are biases
    size_t lowest;                       // layer with a tensor that is not frozen
};

/* Lays the slab out. layers is 1 to MODEL_LAYERS_MOST; widths (layers + 1), each at least 1. */
void model_plan(struct model *model, const size_t *widths, size_t layers, bool bias);

/* The same where weight_from (layers) says whose weight each layer uses, as tie_read does. A layer
 * that uses another's has none of its own. */
void model_plan_tied(struct model *model, const size_t *widths, size_t layers, bool bias,
                     const size_t *weight_from);

/* A layer's tensors: its weight (out, in); its bias (out), or NULL. */
const struct tensor *model_weight(const struct model *model, size_t layer);
const struct tensor *model_bias(const struct model *model, size_t layer);

/* The tensor that element `element` of the slab belongs to; element < model->count. */
const struct tensor *model_tensor_at(const struct model *model, size_t element);

/* The same weights on every rank and machine: U(-a, a) with a = sqrt(6 / in), biases 0 (He et al.,
 * "Delving Deep into Rectifiers", ICCV 2015, section 2.2, as a uniform distribution). */
void model_init_he(const struct model *model, float *param, uint64_t seed);

/* The same of a slice of the slab: values (slice.count). */
void model_init_he_part(const struct model *model, struct slice slice, float *values,
                        uint64_t seed);

struct activations; // what forward keeps for backward: activations.h

/* Where tensors are that do not lie in a whole slab, for lesson 4. An entry that is NULL: in the slab. */
struct places {
    float *param[MODEL_TENSORS_MOST];
    float *grad[MODEL_TENSORS_MOST];
    void (*on_layer)(void *context, size_t layer); // its parameters are about to be used; or NULL
    void (*on_add)(void *context, size_t tensor);  // its gradient is about to be added to; or NULL
    void *context;
};

/* What differs from pass to pass. */
struct pass {
    size_t rows;                 // samples at hand; may be 0
    struct dropout dropout;      // zeroed: evaluation, where every unit takes part
    uint32_t skipped;            // bit l: layer l is left out, y = x
    struct precision *precision; // NULL: float
    const struct places *places; // NULL: all in the slabs
    struct trace *trace;         // NULL, or what is told of each layer
    struct profile *profile;     // NULL, or what counts the time
};

/* a[layers] (rows, outputs) from a[0] (rows, widths[0]). */
void model_forward(const struct model *model, const float *param, struct activations *activations,
                   const struct pass *pass);

/* Told of a tensor's index once its gradient is final. */
struct model_listener {
    void (*on_ready)(void *context, size_t tensor);  // NULL: nobody listens
    void (*on_unused)(void *context, size_t tensor); // all layers that use it were left out
    void *context;
};

/* After model_forward of the same pass; a[layers] holds dloss/doutput by now. Adds the gradient of
 * the loss to grad (count). Tensors are announced from the last layer to the first, bias before
 * weight; one that several layers use after its last use; a frozen one not at all. One of layers that
 * were left out is announced as unused, where its turn comes, and its gradient stays as it is. */
void model_backward(const struct model *model, const float *param, struct activations *activations,
                    const struct pass *pass, float *grad, const struct model_listener *listener);

#endif
