/* model: a multi-layer perceptron over one slab of parameters. See the header for the layout. */
#include "lesson01_single/model.h"
#include "common/rng.h"
#include "lesson01_single/layer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Tensor indices: without biases fc1.weight, fc2.weight, ...; with them a bias after each
 * weight. */
static size_t weight_of(const struct model *model, size_t layer)
{
    return model->bias ? 2 * layer : layer;
}

static void add_tensor(struct model *model, size_t layer, size_t out, size_t in)
{
    struct tensor *tensor = &model->tensors[model->tensor_count++];
    bool weight = in > 0;
    snprintf(tensor->name, sizeof tensor->name, "fc%zu.%s", layer + 1, weight ? "weight" : "bias");
    tensor->dimensions = weight ? 2 : 1;
    tensor->shape[0] = out;
    tensor->shape[1] = in;
    tensor->slice = (struct slice){.begin = model->count, .count = weight ? out * in : out};
    tensor->decays = weight;
    model->count += tensor->slice.count;
}

void model_plan(struct model *model, const size_t *widths, size_t layers, bool bias)
{
    *model = (struct model){.layers = layers, .bias = bias};
    for (size_t layer = 0; layer <= layers; layer++)
        model->widths[layer] = widths[layer];
    for (size_t layer = 0; layer < layers; layer++) {
        add_tensor(model, layer, widths[layer + 1], widths[layer]);
        if (bias)
            add_tensor(model, layer, widths[layer + 1], 0);
    }
}

const struct tensor *model_tensor_at(const struct model *model, size_t element)
{
    const struct tensor *tensor = model->tensors;
    while (element >= tensor->slice.begin + tensor->slice.count)
        tensor++;
    return tensor;
}

void model_init_he(const struct model *model, float *param, uint64_t seed)
{
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct tensor *tensor = &model->tensors[i];
        struct rng rng = {.seed = seed, .stream = RNG_WEIGHTS, .sub = (uint32_t)i};
        float limit = tensor->dimensions == 2 ? sqrtf(6.0f / (float)tensor->shape[1]) : 0;
        for (size_t j = 0; j < tensor->slice.count; j++)
            param[tensor->slice.begin + j] = limit * (2 * rng_uniform(&rng, j) - 1);
    }
}

static size_t widest_hidden(const struct model *model)
{
    size_t widest = 0;
    for (size_t layer = 1; layer < model->layers; layer++)
        widest = model->widths[layer] > widest ? model->widths[layer] : widest;
    return widest;
}

int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory)
{
    *activations = (struct activations){.capacity = capacity};
    bool all = true;
    for (size_t layer = 0; layer <= model->layers; layer++) {
        size_t count = capacity * model->widths[layer];
        activations->a[layer] = memory_floats(memory, MEMORY_ACTIVATIONS, count);
        all = all && activations->a[layer];
    }
    for (int i = 0; i < 2; i++) {
        size_t count = capacity * widest_hidden(model);
        activations->d[i] = memory_floats(memory, MEMORY_ACTIVATIONS, count);
        all = all && activations->d[i];
    }
    if (all)
        return 0;
    activations_release(activations, model, memory);
    return -ENOMEM;
}

void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory)
{
    for (size_t layer = 0; layer <= model->layers; layer++)
        memory_return(memory, MEMORY_ACTIVATIONS, activations->a[layer],
                      activations->capacity * model->widths[layer]);
    for (int i = 0; i < 2; i++)
        memory_return(memory, MEMORY_ACTIVATIONS, activations->d[i],
                      activations->capacity * widest_hidden(model));
    *activations = (struct activations){0};
}

static struct dense_shape shape_of(const struct model *model, size_t layer, size_t rows)
{
    return (struct dense_shape){
        .rows = rows, .in = model->widths[layer], .out = model->widths[layer + 1]};
}

void model_forward(const struct model *model, const float *param, struct activations *activations,
                   size_t rows)
{
    for (size_t layer = 0; layer < model->layers; layer++) {
        const struct tensor *weight = &model->tensors[weight_of(model, layer)];
        const float *w = param + weight->slice.begin; // (out, in)
        const float *b = model->bias ? w + weight->slice.count : NULL;
        float *y = activations->a[layer + 1];
        dense_forward(y, activations->a[layer], w, b, shape_of(model, layer, rows));
        if (layer + 1 < model->layers)
            relu_forward(y, rows * model->widths[layer + 1]);
    }
}

static void announce(const struct model_listener *listener, size_t tensor)
{
    if (listener->on_ready)
        listener->on_ready(listener->context, tensor);
}

void model_backward(const struct model *model, const float *param, struct activations *activations,
                    size_t rows, float *grad, const struct model_listener *listener)
{
    const float *dy = activations->a[model->layers]; // (rows, out) of the layer at hand
    for (size_t layer = model->layers; layer-- > 0;) {
        struct dense_shape shape = shape_of(model, layer, rows);
        size_t w = weight_of(model, layer);
        const float *x = activations->a[layer];
        if (model->bias) {
            dense_backward_bias(grad + model->tensors[w + 1].slice.begin, dy, shape);
            announce(listener, w + 1);
        }
        dense_backward_weight(grad + model->tensors[w].slice.begin, dy, x, shape);
        announce(listener, w);
        if (layer == 0)
            return; // nobody asks how the data should change
        float *dx = activations->d[layer % 2];
        dense_backward_input(dx, dy, param + model->tensors[w].slice.begin, shape);
        relu_backward(dx, x, rows * shape.in);
        dy = dx;
    }
}
