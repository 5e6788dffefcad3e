/* bound: how far float arithmetic may carry a gradient from the true one. See the header. */
#include "lesson01_single/bound.h"
#include "lesson01_single/loss_scale.h"

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
    bound->gradient = reference_doubles(memory, model->count);
    bound->size = reference_doubles(memory, model->count);
    bound->bound = reference_doubles(memory, model->count);
    bool all = bound->gradient && bound->size && bound->bound;
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
    reference_return(memory, bound->gradient, model->count);
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

/* Multiplied by dropout's m, which is 1 where there is none: x + e becomes m (x + e), rounded. */
static double multiplied(double m, double x, double e)
{
    return m == 1 ? e : m * e + U * m * (fabs(x) + e) + SMALLEST;
}

/* With --precision a stored x is rounded once more: nothing, in float. */
static double stored(const struct bound *bound, double x, double e)
{
    return e + bound->unit * (fabs(x) + e) + bound->least;
}

/* A gradient on its way down is stored `scale` times as large. */
static double stored_gradient(const struct bound *bound, double d, double e)
{
    return e + bound->unit * (fabs(d) + e) + bound->least / bound->scale;
}

/* e(a) of one layer's output. */
static void forward_errors(struct bound *bound, size_t layer)
{
    const struct reference *reference = &bound->reference;
    const struct model *model = reference->model;
    const struct tensor *bias = model_bias(model, layer);
    const double *w = reference->param + model_weight(model, layer)->slice.begin; // (out, in)
    const double *a = reference->a[layer], *e = bound->e[layer];
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    for (size_t i = 0; i < out; i++) {
        double carried = 0, size = bias ? fabs(reference->param[bias->slice.begin + i]) : 0;
        for (size_t j = 0; j < in; j++) {
            carried += fabs(w[i * in + j]) * e[j];
            size += fabs(w[i * in + j]) * (fabs(a[j]) + e[j]);
        }
        double error = carried + gamma_of(in + 1) * size + (double)in * SMALLEST;
        double m = reference->m[layer + 1][i], z = reference->z[layer + 1][i];
        bound->e[layer + 1][i] = stored(bound, m * z, multiplied(m, z, error));
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
        e_d[i] = stored_gradient(bound, d[i], e_d[i]);
    }
}

/* Takes d of a hidden layer's output back through dropout and the ReLU. */
static void activation_errors(struct bound *bound, size_t layer)
{
    const struct reference *reference = &bound->reference;
    const double *z = reference->z[layer + 1], *m = reference->m[layer + 1];
    double *d = bound->d[layer + 1], *e_d = bound->e_d[layer + 1];
    for (size_t i = 0; i < reference->model->widths[layer + 1]; i++) {
        bool passes = z[i] > 0, certain = m[i] == 0 || m[i] * fabs(z[i]) > bound->e[layer + 1][i];
        double most = multiplied(m[i], d[i], e_d[i]);
        most = stored_gradient(bound, m[i] * d[i], most);
        e_d[i] = !certain ? m[i] * fabs(d[i]) + most : passes ? most : 0;
        d[i] = passes ? m[i] * d[i] : 0;
    }
}

/* d of the layer's input, from d of what its dense product gave. */
static void input_errors(struct bound *bound, size_t layer)
{
    const struct model *model = bound->reference.model;
    const double *w = bound->reference.param + model_weight(model, layer)->slice.begin;
    const double *dy = bound->d[layer + 1], *e_dy = bound->e_d[layer + 1];
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    for (size_t j = 0; j < in; j++) {
        double d = 0, carried = 0, size = 0;
        for (size_t i = 0; i < out; i++) {
            double weight = w[i * in + j];
            d += weight * dy[i];
            carried += fabs(weight) * e_dy[i];
            size += fabs(weight) * (fabs(dy[i]) + e_dy[i]);
        }
        bound->d[layer][j] = d;
        bound->e_d[layer][j] = carried + gamma_of(out) * size + (double)out * SMALLEST;
    }
}

/* Adds one sample's share of dy a, of (|dy| + e(dy)) (|a| + e(a)) and of the errors carried. */
static void parameter_errors(struct bound *bound, size_t layer)
{
    const struct model *model = bound->reference.model;
    const struct tensor *weight = model_weight(model, layer), *bias = model_bias(model, layer);
    const double *a = bound->reference.a[layer], *e_a = bound->e[layer];
    size_t in = model->widths[layer], out = model->widths[layer + 1];
    for (size_t i = 0; i < out; i++) {
        double dy = bound->d[layer + 1][i], e_dy = bound->e_d[layer + 1][i];
        size_t row = weight->slice.begin + i * in;
        for (size_t j = 0; j < in && !weight->frozen; j++) {
            double most = fabs(a[j]) + e_a[j];
            bound->gradient[row + j] += dy * a[j];
            bound->size[row + j] += (fabs(dy) + e_dy) * most;
            bound->bound[row + j] += e_dy * most + fabs(dy) * e_a[j];
        }
        if (!bias || bias->frozen)
            continue;
        bound->gradient[bias->slice.begin + i] += dy;
        bound->size[bias->slice.begin + i] += fabs(dy) + e_dy;
        bound->bound[bias->slice.begin + i] += e_dy;
    }
}

/* A layer that was left out passes everything on. */
static void skip(double *to, const double *from, size_t width)
{
    memcpy(to, from, width * sizeof *to);
}

static void backward_errors(struct bound *bound, size_t layer)
{
    const struct model *model = bound->reference.model;
    if (reference_skips(&bound->reference, layer)) {
        skip(bound->d[layer], bound->d[layer + 1], model->widths[layer]);
        skip(bound->e_d[layer], bound->e_d[layer + 1], model->widths[layer]);
        return;
    }
    if (layer + 1 < model->layers)
        activation_errors(bound, layer);
    parameter_errors(bound, layer);
    if (layer > 0)
        input_errors(bound, layer);
}

static void add_sample(struct bound *bound, const struct dataset *dataset, size_t index,
                       double weight)
{
    const struct model *model = bound->reference.model;
    reference_loss(&bound->reference, dataset, index);
    for (size_t i = 0; i < dataset->width; i++)
        bound->e[0][i] = stored(bound, bound->reference.a[0][i], 0);
    for (size_t layer = 0; layer < model->layers; layer++)
        if (reference_skips(&bound->reference, layer))
            skip(bound->e[layer + 1], bound->e[layer], model->widths[layer]);
        else
            forward_errors(bound, layer);
    output_errors(bound, dataset, index, weight);
    for (size_t layer = model->layers; layer-- > 0;)
        backward_errors(bound, layer);
}

/* A rank's samples of the step, with the layers that this rank leaves out. */
static void add_rank(struct bound *bound, const struct trainer *trainer, const struct step *step,
                     size_t rank)
{
    const uint32_t *order = sampler_order(trainer->sampler, step->epoch);
    size_t batches = sampler_micro_batches(trainer->sampler, step);
    double weight = 1 / (double)step->samples.count;
    bound->reference.skipped =
        layer_drop_skipped(&trainer->layer_drop, trainer->model, step->index, rank);
    for (size_t m = 0; m < batches; m++) {
        struct slice share = sampler_share(trainer->sampler, step, m, trainer->world, rank);
        for (size_t i = 0; i < share.count; i++)
            add_sample(bound, trainer->dataset, order[share.begin + i], weight);
    }
}

/* The number of layers that one tensor has. */
static size_t uses_most(const struct model *model)
{
    size_t most = 1;
    for (size_t i = 0; i < model->tensor_count; i++)
        most = model->tensors[i].uses > most ? model->tensors[i].uses : most;
    return most;
}

void bound_step(struct bound *bound, struct trainer *trainer, const struct step *step)
{
    const struct model *model = trainer->model;
    size_t batches = sampler_micro_batches(trainer->sampler, step);
    memset(bound->gradient, 0, model->count * sizeof *bound->gradient);
    memset(bound->size, 0, model->count * sizeof *bound->size);
    memset(bound->bound, 0, model->count * sizeof *bound->bound);
    reference_load(&bound->reference, trainer_load_weights(trainer));
    bound->unit = precision_unit(trainer->precision.kind);
    bound->least = precision_least(trainer->precision.kind);
    bound->scale = trainer->precision.scale ? (double)trainer->precision.scale->value : 1;
    bound->reference.dropout = trainer->dropout;
    bound->reference.dropout.step = step->index;
    for (size_t rank = 0; rank < trainer->world; rank++)
        add_rank(bound, trainer, step, rank);
    /* Each product is rounded once and takes part in at most this many additions; it may underflow, and
     * so may each rank's sum when its scale is taken back. */
    size_t additions = (step->samples.count + batches) * uses_most(model) + trainer->world;
    double gamma = gamma_of(1 + additions);
    for (size_t i = 0; i < model->count; i++)
        bound->bound[i] += gamma * bound->size[i] + SMALLEST * (double)additions;
}
