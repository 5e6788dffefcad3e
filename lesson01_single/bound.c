/* bound: how far float arithmetic may carry a gradient from the true one. See the header. */
#include "lesson01_single/bound.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

static const double U = 0x1p-24;         // half the gap between 1 and the next float
static const double SMALLEST = 0x1p-149; // what an underflow can lose at most

static double gamma_of(size_t roundings)
{
    double nu = (double)roundings * U;
    return nu / (1 - nu);
}

int bound_init(struct bound *bound, const struct model *model, struct memory *memory)
{
    *bound = (struct bound){0};
    int error = reference_init(&bound->reference, model, memory);
    if (error)
        return error;
    bound->size = reference_doubles(memory, model->count);
    bound->bound = reference_doubles(memory, model->count);
    bool all = bound->size && bound->bound;
    for (size_t layer = 0; layer <= model->layers; layer++) {
        bound->e[layer] = reference_doubles(memory, model->widths[layer]);
        bound->d[layer] = reference_doubles(memory, model->widths[layer]);
        bound->e_d[layer] = reference_doubles(memory, model->widths[layer]);
        all = all && bound->e[layer] && bound->d[layer] && bound->e_d[layer];
    }
    if (all)
        return 0;
    bound_release(bound);
    return -ENOMEM;
}

void bound_release(struct bound *bound)
{
    const struct model *model = bound->reference.model;
    struct memory *memory = bound->reference.memory;
    if (!model)
        return;
    reference_return(memory, bound->size, model->count);
    reference_return(memory, bound->bound, model->count);
    for (size_t layer = 0; layer <= model->layers; layer++) {
        reference_return(memory, bound->e[layer], model->widths[layer]);
        reference_return(memory, bound->d[layer], model->widths[layer]);
        reference_return(memory, bound->e_d[layer], model->widths[layer]);
    }
    reference_release(&bound->reference);
    *bound = (struct bound){0};
}

/* e(z) of one layer; w (out, in), then b (out) if there are biases. */
static void forward_errors(struct bound *bound, size_t layer, const double *w)
{
    const struct model *model = bound->reference.model;
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    const double *a = bound->reference.a[layer], *e = bound->e[layer];
    for (size_t i = 0; i < out; i++) {
        double carried = 0, size = model->bias ? fabs(w[out * in + i]) : 0;
        for (size_t j = 0; j < in; j++) {
            carried += fabs(w[i * in + j]) * e[j];
            size += fabs(w[i * in + j]) * (fabs(a[j]) + e[j]);
        }
        bound->e[layer + 1][i] = carried + gamma_of(in + 1) * size + SMALLEST;
    }
}

static double most_of(const double *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* e(p). Where the outputs are very uncertain (a run that diverges) exp() says nothing any more; but
 * both probabilities lie between 0 and 1, so they are never further apart than that. */
static double probability_error(double p, double spread, double rounded)
{
    return fmin(1, fmax(p, DBL_TRUE_MIN) * (spread + rounded));
}

/* dloss/doutput, times weight, and the bound on its error. */
static void output_errors(struct bound *bound, const struct dataset *dataset, size_t index,
                          double weight)
{
    size_t last = bound->reference.model->layers, count = dataset->outputs;
    const double *z = bound->reference.a[last], *e = bound->e[last];
    double *d = bound->d[last], *e_d = bound->e_d[last];
    if (dataset->labels)
        reference_softmax(d, z, count);
    double spread = expm1(2 * most_of(e, count));
    double rounded = ((double)count + 5 + 4 * most_of(z, count)) * U;
    for (size_t i = 0; i < count; i++) {
        if (dataset->labels) {
            e_d[i] = weight * probability_error(d[i], spread, rounded);
            d[i] = weight * (d[i] - (i == (size_t)dataset->labels[index] ? 1 : 0));
        } else {
            double scale = 2 * weight / (double)count;
            e_d[i] = scale * e[i];
            d[i] = scale * (z[i] - (double)dataset->targets[index * count + i]);
        }
        e_d[i] += 4 * U * (fabs(d[i]) + e_d[i]) + SMALLEST;
    }
}

/* Gradient and error with respect to layer's input x = max(z, 0), passed through that ReLU. */
static void backward_errors(struct bound *bound, size_t layer, const double *w)
{
    const struct model *model = bound->reference.model;
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    const double *dy = bound->d[layer + 1], *e_dy = bound->e_d[layer + 1];
    for (size_t j = 0; j < in; j++) {
        double d = 0, carried = 0, size = 0;
        for (size_t i = 0; i < out; i++) {
            double weight = w[i * in + j];
            d += weight * dy[i];
            carried += fabs(weight) * e_dy[i];
            size += fabs(weight) * (fabs(dy[i]) + e_dy[i]);
        }
        double error = carried + gamma_of(out) * size + SMALLEST;
        double z = bound->reference.z[layer][j];
        bool passes = z > 0, certain = fabs(z) > bound->e[layer][j];
        bound->d[layer][j] = passes ? d : 0;
        bound->e_d[layer][j] = !certain ? fabs(d) + error : passes ? error : 0;
    }
}

/* Adds one sample's share of (|dy| + e(dy)) (|a| + e(a)) and of the errors carried. */
static void parameter_errors(struct bound *bound, size_t layer, size_t begin)
{
    const struct model *model = bound->reference.model;
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    const double *a = bound->reference.a[layer], *e_a = bound->e[layer];
    for (size_t i = 0; i < out; i++) {
        double dy = fabs(bound->d[layer + 1][i]), e_dy = bound->e_d[layer + 1][i];
        double *size = bound->size + begin + i * in, *sum = bound->bound + begin + i * in;
        for (size_t j = 0; j < in; j++) {
            double most = fabs(a[j]) + e_a[j];
            size[j] += (dy + e_dy) * most;
            sum[j] += e_dy * most + dy * e_a[j];
        }
        if (model->bias) {
            bound->size[begin + out * in + i] += dy + e_dy;
            bound->bound[begin + out * in + i] += e_dy;
        }
    }
}

static void add_sample(struct bound *bound, const struct dataset *dataset, size_t index,
                       double weight)
{
    const struct model *model = bound->reference.model;
    reference_loss(&bound->reference, dataset, index);
    size_t begin = 0;
    for (size_t layer = 0; layer < model->layers; layer++) {
        forward_errors(bound, layer, bound->reference.param + begin);
        begin += model->widths[layer + 1] * (model->widths[layer] + (model->bias ? 1 : 0));
    }
    output_errors(bound, dataset, index, weight);
    for (size_t layer = model->layers; layer-- > 0;) {
        begin -= model->widths[layer + 1] * (model->widths[layer] + (model->bias ? 1 : 0));
        parameter_errors(bound, layer, begin);
        if (layer > 0)
            backward_errors(bound, layer, bound->reference.param + begin);
    }
}

void bound_step(struct bound *bound, struct trainer *trainer, const struct step *step)
{
    const struct model *model = trainer->model;
    const uint32_t *order = sampler_order(trainer->sampler, step->epoch);
    size_t batches = sampler_micro_batches(trainer->sampler, step);
    double weight = 1 / (double)step->samples.count;
    memset(bound->size, 0, model->count * sizeof *bound->size);
    memset(bound->bound, 0, model->count * sizeof *bound->bound);
    reference_load(&bound->reference, trainer->param);
    for (size_t i = 0; i < step->samples.count; i++)
        add_sample(bound, trainer->dataset, order[step->samples.begin + i], weight);
    /* Each product is rounded once and takes part in at most this many additions. */
    double gamma = gamma_of(1 + step->samples.count + batches + trainer->world);
    for (size_t i = 0; i < model->count; i++)
        bound->bound[i] += gamma * bound->size[i] + SMALLEST * (double)step->samples.count;
}
