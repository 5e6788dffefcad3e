/* model: a multi-layer perceptron over one slab of parameters. See the header for the layout. */
#include "lesson01_single/model.h"
#include "common/rng.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Its index. */
static size_t add_tensor(struct model *model, size_t layer, size_t out, size_t in)
{
    struct tensor *tensor = &model->tensors[model->tensor_count++];
    bool weight = in > 0;
    snprintf(tensor->name, sizeof tensor->name, "fc%zu.%s", layer + 1, weight ? "weight" : "bias");
    tensor->dimensions = weight ? 2 : 1;
    tensor->shape[0] = out;
    tensor->shape[1] = in;
    tensor->slice = (struct slice){.begin = model->count, .count = weight ? out * in : out};
    tensor->decays = weight;
    tensor->uses = 1;
    tensor->last_use = layer;
    model->count += tensor->slice.count;
    return model->tensor_count - 1;
}

/* The layer uses another's weight. */
static void tie_weight(struct model *model, size_t layer, size_t from)
{
    struct tensor *weight = &model->tensors[model->weight_of[from]];
    model->weight_of[layer] = model->weight_of[from];
    weight->uses++;
    if (layer < weight->last_use)
        weight->last_use = layer;
}

void model_plan_tied(struct model *model, const size_t *widths, size_t layers, bool bias,
                     const size_t *weight_from)
{
    *model = (struct model){.layers = layers, .bias = bias};
    for (size_t layer = 0; layer <= layers; layer++)
        model->widths[layer] = widths[layer];
    for (size_t layer = 0; layer < layers; layer++) {
        if (weight_from[layer] == layer)
            model->weight_of[layer] = add_tensor(model, layer, widths[layer + 1], widths[layer]);
        if (bias)
            model->bias_of[layer] = add_tensor(model, layer, widths[layer + 1], 0);
    }
    for (size_t layer = 0; layer < layers; layer++)
        if (weight_from[layer] != layer)
            tie_weight(model, layer, weight_from[layer]);
}

void model_plan(struct model *model, const size_t *widths, size_t layers, bool bias)
{
    size_t own[MODEL_LAYERS_MOST];
    for (size_t layer = 0; layer < layers; layer++)
        own[layer] = layer;
    model_plan_tied(model, widths, layers, bias, own);
}

const struct tensor *model_weight(const struct model *model, size_t layer)
{
    return &model->tensors[model->weight_of[layer]];
}

const struct tensor *model_bias(const struct model *model, size_t layer)
{
    return model->bias ? &model->tensors[model->bias_of[layer]] : NULL;
}

const struct tensor *model_tensor_at(const struct model *model, size_t element)
{
    const struct tensor *tensor = model->tensors;
    while (element >= tensor->slice.begin + tensor->slice.count)
        tensor++;
    return tensor;
}

void model_init_he_part(const struct model *model, struct slice slice, float *values, uint64_t seed)
{
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct tensor *tensor = &model->tensors[i];
        struct slice part = slice_overlap(tensor->slice, slice);
        struct rng rng = {.seed = seed, .stream = RNG_WEIGHTS, .sub = (uint32_t)i};
        float limit = tensor->dimensions == 2 ? sqrtf(6.0f / (float)tensor->shape[1]) : 0;
        float *to = values + (part.begin - slice.begin);
        for (size_t j = 0; j < part.count; j++)
            to[j] = limit * (2 * rng_uniform(&rng, part.begin - tensor->slice.begin + j) - 1);
    }
}

void model_init_he(const struct model *model, float *param, uint64_t seed)
{
    model_init_he_part(model, (struct slice){0, model->count}, param, seed);
}

/* One pass over the model. */
struct walk {
    const struct model *model;
    const float *param;
    struct activations *activations;
    const struct pass *pass;
    float *grad;
    const struct model_listener *listener;
};

static struct dense_shape shape_of(const struct walk *walk, size_t layer)
{
    return (struct dense_shape){
        .rows = walk->pass->rows,
        .in = walk->model->widths[layer],
        .out = walk->model->widths[layer + 1],
        .profile = walk->pass->profile,
    };
}

static const float *param_of(const struct walk *walk, const struct tensor *tensor)
{
    const struct places *places = walk->pass->places;
    const float *place = places ? places->param[tensor - walk->model->tensors] : NULL;
    return place ? place : walk->param + tensor->slice.begin;
}

/* Where the tensor's gradient is to be added. */
static float *grad_of(const struct walk *walk, const struct tensor *tensor)
{
    const struct places *places = walk->pass->places;
    size_t index = (size_t)(tensor - walk->model->tensors);
    if (places && places->on_add)
        places->on_add(places->context, index);
    float *place = places ? places->grad[index] : NULL;
    return place ? place : walk->grad + tensor->slice.begin;
}

/* Every layer is asked for, also one that is left out here: it may take part on another rank. */
static void ask_for(const struct walk *walk, size_t layer)
{
    const struct places *places = walk->pass->places;
    if (places && places->on_layer)
        places->on_layer(places->context, layer);
}

static bool skips(const struct walk *walk, size_t layer)
{
    return walk->pass->skipped >> layer & 1;
}

/* a[layer + 1] from a[layer]: the dense product; then, but for the last layer, ReLU and dropout. */
static void layer_forward(const struct walk *walk, size_t layer)
{
    const struct model *model = walk->model;
    const struct tensor *bias = model_bias(model, layer);
    const float *x = walk->activations->a[layer];
    float *y = walk->activations->a[layer + 1];
    struct dense_shape shape = shape_of(walk, layer);
    if (skips(walk, layer)) {
        memcpy(y, x, shape.rows * shape.in * sizeof *y);
        return;
    }
    dense_forward(y, x, param_of(walk, model_weight(model, layer)),
                  bias ? param_of(walk, bias) : NULL, shape);
    if (layer + 1 == model->layers)
        return;
    relu_forward(y, shape.rows * shape.out);
    dropout_forward(&walk->pass->dropout, layer, y, shape.rows, shape.out);
}

/* The same, rounded to the precision asked for, and traced. */
static void go_forward(const struct walk *walk, size_t layer)
{
    const struct pass *pass = walk->pass;
    ask_for(walk, layer);
    double began = trace_begin(pass->trace);
    layer_forward(walk, layer);
    precision_round(pass->precision, walk->activations->a[layer + 1],
                    pass->rows * walk->model->widths[layer + 1]);
    trace_end(pass->trace, TRACE_FORWARD, layer + 1, began);
}

void model_forward(const struct model *model, const float *param, struct activations *activations,
                   const struct pass *pass)
{
    struct walk walk = {.model = model, .param = param, .activations = activations, .pass = pass};
    for (size_t layer = 0; layer < model->layers; layer++)
        go_forward(&walk, layer);
    activations_filled(activations, model->layers);
}

/* Where a[layer] is neither kept nor still there, goes forward again from the nearest one kept below: the
 * same steps on the same numbers, dropout's masks among them, and so the same bits. */
static void recompute(const struct walk *walk, size_t layer)
{
    struct activations *activations = walk->activations;
    size_t kept = layer / activations->every * activations->every;
    if (kept == layer || kept == activations->held)
        return;
    for (size_t again = kept; again < layer; again++)
        go_forward(walk, again);
    activations->held = kept;
    activations->recomputed += layer - kept;
}

/* Does some layer that takes part use the tensor? */
static bool takes_part(const struct walk *walk, size_t tensor)
{
    const struct model *model = walk->model;
    bool used = walk->pass->skipped == 0;
    for (size_t layer = 0; layer < model->layers && !used; layer++)
        used = !skips(walk, layer) && (model->weight_of[layer] == tensor ||
                                       (model->bias && model->bias_of[layer] == tensor));
    return used;
}

/* Backward has dealt with this layer's use of the tensor. */
static void announce(const struct walk *walk, size_t layer, size_t tensor)
{
    const struct tensor *ready = &walk->model->tensors[tensor];
    const struct model_listener *listener = walk->listener;
    if (ready->last_use != layer || ready->frozen || !listener->on_ready)
        return;
    profile_lap(walk->pass->profile, PROFILE_ELEMENTWISE);
    if (takes_part(walk, tensor))
        listener->on_ready(listener->context, tensor);
    else if (listener->on_unused)
        listener->on_unused(listener->context, tensor);
    profile_lap(walk->pass->profile, PROFILE_HAND_OVER);
}

/* The layer's parameters' part of the gradient, from dy (rows, out); none of a layer left out. */
static void parameters_backward(const struct walk *walk, size_t layer, const float *dy)
{
    const struct model *model = walk->model;
    const struct tensor *weight = model_weight(model, layer), *bias = model_bias(model, layer);
    bool skipped = skips(walk, layer);
    if (bias && !bias->frozen && !skipped)
        dense_backward_bias(grad_of(walk, bias), dy, shape_of(walk, layer));
    if (bias)
        announce(walk, layer, model->bias_of[layer]);
    if (!weight->frozen && !skipped)
        dense_backward_weight(grad_of(walk, weight), dy, walk->activations->a[layer],
                              shape_of(walk, layer));
    announce(walk, layer, model->weight_of[layer]);
}

/* Takes back what layer_forward did, last step first. dy (rows, out) is the gradient with respect to
 * a[layer + 1]; returns that with respect to a[layer], or NULL where nothing below learns: nobody asks
 * how the data should change. */
static float *layer_backward(const struct walk *walk, size_t layer, float *dy)
{
    const struct model *model = walk->model;
    struct activations *activations = walk->activations;
    struct dense_shape shape = shape_of(walk, layer);
    bool skipped = skips(walk, layer);
    if (layer + 1 < model->layers && !skipped) {
        relu_backward(dy, activations->a[layer + 1], shape.rows * shape.out);
        dropout_backward(&walk->pass->dropout, dy, shape.rows * shape.out);
    }
    if (!skipped) // else it is still to come to the layer that is rounded, and counted, once
        precision_round_gradient(walk->pass->precision, dy, shape.rows * shape.out);
    parameters_backward(walk, layer, dy);
    if (layer == model->lowest)
        return NULL;
    if (skipped)
        return dy;
    float *dx = dy == activations->d[0] ? activations->d[1] : activations->d[0];
    dense_backward_input(dx, dy, param_of(walk, model_weight(model, layer)), shape);
    return dx;
}

void model_backward(const struct model *model, const float *param, struct activations *activations,
                    const struct pass *pass, float *grad, const struct model_listener *listener)
{
    struct walk walk = {model, param, activations, pass, grad, listener};
    float *d = activations->a[model->layers]; // the gradient with respect to a[layer + 1]
    for (size_t layer = model->layers; layer-- > model->lowest;) {
        recompute(&walk, layer);
        ask_for(&walk, layer);
        double began = trace_begin(pass->trace);
        d = layer_backward(&walk, layer, d);
        trace_end(pass->trace, TRACE_BACKWARD, layer + 1, began);
    }
}
