/* reference: the same network in double, one sample at a time, in plain loops. See the header. */
#include "lesson01_single/reference.h"

#include <errno.h>
#include <math.h>

enum { FLOATS_PER_DOUBLE = sizeof(double) / sizeof(float) };

double *reference_doubles(struct memory *memory, size_t count)
{
    return (double *)(void *)memory_floats(memory, MEMORY_OTHER, count * FLOATS_PER_DOUBLE);
}

void reference_return(struct memory *memory, double *array, size_t count)
{
    memory_return(memory, MEMORY_OTHER, (float *)(void *)array, count * FLOATS_PER_DOUBLE);
}

int reference_init(struct reference *reference, const struct model *model, struct memory *memory)
{
    *reference = (struct reference){.model = model, .memory = memory};
    reference->param = reference_doubles(memory, model->count);
    bool all = reference->param != NULL;
    for (size_t layer = 0; layer <= model->layers; layer++) {
        reference->z[layer] = reference_doubles(memory, model->widths[layer]);
        reference->m[layer] = reference_doubles(memory, model->widths[layer]);
        reference->a[layer] = reference_doubles(memory, model->widths[layer]);
        all = all && reference->z[layer] && reference->m[layer] && reference->a[layer];
    }
    if (all)
        return 0;
    reference_release(reference);
    return -ENOMEM;
}

void reference_release(struct reference *reference)
{
    const struct model *model = reference->model;
    if (!model)
        return;
    reference_return(reference->memory, reference->param, model->count);
    for (size_t layer = 0; layer <= model->layers; layer++) {
        reference_return(reference->memory, reference->z[layer], model->widths[layer]);
        reference_return(reference->memory, reference->m[layer], model->widths[layer]);
        reference_return(reference->memory, reference->a[layer], model->widths[layer]);
    }
    *reference = (struct reference){0};
}

void reference_load(struct reference *reference, const float *param)
{
    for (size_t i = 0; i < reference->model->count; i++)
        reference->param[i] = (double)param[i];
}

bool reference_skips(const struct reference *reference, size_t layer)
{
    return reference->skipped >> layer & 1;
}

/* y = W x + b, then ReLU and dropout, but for the last layer. A layer that is left out passes its
 * input on. */
static void forward_layer(struct reference *reference, size_t layer, uint32_t sample)
{
    const struct model *model = reference->model;
    const struct tensor *bias = model_bias(model, layer);
    const double *w = reference->param + model_weight(model, layer)->slice.begin; // (out, in)
    const double *b = bias ? reference->param + bias->slice.begin : NULL;
    const double *x = reference->a[layer];
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    bool skipped = reference_skips(reference, layer), last = layer + 1 == model->layers;
    for (size_t i = 0; i < out; i++) {
        double z = skipped ? x[i] : b ? b[i] : 0, m = 1;
        for (size_t j = 0; j < in && !skipped; j++)
            z += w[i * in + j] * x[j];
        if (!last && !skipped)
            m = (double)dropout_factor(&reference->dropout, sample, layer, i);
        reference->z[layer + 1][i] = z;
        reference->m[layer + 1][i] = m;
        reference->a[layer + 1][i] = last || skipped ? z : z > 0 ? m * z : 0;
    }
}

void reference_softmax(double *p, const double *z, size_t count)
{
    double most = z[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        most = z[i] > most ? z[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += p[i] = exp(z[i] - most);
    for (size_t i = 0; i < count; i++)
        p[i] /= sum;
}

static double cross_entropy(const double *z, size_t label, size_t count)
{
    double most = z[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        most = z[i] > most ? z[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp(z[i] - most);
    return log(sum) - (z[label] - most);
}

static double squared_error(const double *y, const float *t, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (y[i] - (double)t[i]) * (y[i] - (double)t[i]);
    return sum / (double)count;
}

double reference_loss(struct reference *reference, const struct dataset *dataset, size_t index)
{
    const struct model *model = reference->model;
    for (size_t i = 0; i < dataset->width; i++)
        reference->a[0][i] = (double)dataset->features[index * dataset->width + i];
    for (size_t layer = 0; layer < model->layers; layer++)
        forward_layer(reference, layer, (uint32_t)index);
    const double *output = reference->a[model->layers];
    if (dataset->labels)
        return cross_entropy(output, (size_t)dataset->labels[index], dataset->outputs);
    return squared_error(output, dataset->targets + index * dataset->outputs, dataset->outputs);
}
