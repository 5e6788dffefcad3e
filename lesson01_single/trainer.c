/* trainer: the gradient of one step, and the loss of a whole data set. See the header. */
#include "lesson01_single/trainer.h"
#include "common/clock.h"
#include "lesson01_single/loss.h"
#include "lesson01_single/loss_scale.h"
#include "lesson01_single/norm.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static size_t rows_of(const struct trainer *trainer)
{
    return trainer->activations.capacity;
}

static size_t outputs_of(const struct trainer *trainer)
{
    return trainer->model->widths[trainer->model->layers];
}

int trainer_init(struct trainer *trainer, const struct trainer *like, size_t rows,
                 struct memory *memory)
{
    assert(rows > 0); // trainer_evaluate walks a data set in pieces of this many
    *trainer = *like;
    trainer->memory = memory;
    trainer->labels = NULL; // never those of `like`
    trainer->targets = NULL;
    trainer->precision.param = NULL;
    trainer->looks = false;
    trainer->mistakes = NULL; // its owner sets them
    trainer->trace = NULL;
    trainer->profile = NULL;
    trainer->look = NULL;
    int error = activations_init_every(&trainer->activations, trainer->model, rows,
                                       trainer->recompute > 0 ? trainer->recompute : 1, memory);
    if (error)
        return error;
    size_t outputs = outputs_of(trainer);
    trainer->labels = (int32_t *)memory_floats(memory, MEMORY_BUFFERS, rows);
    trainer->targets = memory_floats(memory, MEMORY_BUFFERS, rows * outputs);
    bool rounds = trainer->precision.kind != PRECISION_FP32 && trainer->param;
    if (rounds)
        trainer->precision.param = memory_floats(memory, MEMORY_PARAMETERS, trainer->model->count);
    if (trainer->labels && trainer->targets && (!rounds || trainer->precision.param))
        return 0;
    trainer_release(trainer);
    return -ENOMEM;
}

void trainer_release(struct trainer *trainer)
{
    if (trainer->memory) {
        size_t rows = rows_of(trainer), outputs = outputs_of(trainer);
        memory_return(trainer->memory, MEMORY_BUFFERS, (float *)trainer->labels, rows);
        memory_return(trainer->memory, MEMORY_BUFFERS, trainer->targets, rows * outputs);
        memory_return(trainer->memory, MEMORY_PARAMETERS, trainer->precision.param,
                      trainer->model->count);
        activations_release(&trainer->activations, trainer->model, trainer->memory);
    }
    *trainer = (struct trainer){0};
}

/* As they were loaded last. */
static const float *weights_of(const struct trainer *trainer)
{
    return trainer->precision.param ? trainer->precision.param : trainer->param;
}

const float *trainer_load_weights(struct trainer *trainer)
{
    struct precision *precision = &trainer->precision;
    if (!precision->param)
        return trainer->param;
    memcpy(precision->param, trainer->param, trainer->model->count * sizeof *trainer->param);
    precision_round(precision, precision->param, trainer->model->count);
    return precision->param;
}

static float scale_of(const struct trainer *trainer)
{
    return trainer->precision.scale ? trainer->precision.scale->value : 1;
}

/* A tensor's gradient is final: from here on it is the true one. */
static void on_final(void *context, size_t tensor)
{
    struct trainer *trainer = context;
    struct slice slice = trainer->model->tensors[tensor].slice;
    const struct places *places = trainer->places;
    float *grad =
        places && places->grad[tensor] ? places->grad[tensor] : trainer->grad + slice.begin;
    float unscale = 1 / scale_of(trainer);
    for (size_t i = 0; i < slice.count && unscale != 1; i++)
        grad[i] *= unscale;
    if (trainer->looks && !isfinite(norm_largest(grad, slice.count)))
        trainer->nonfinite = true;
    look_final(trainer->look, trainer->model, tensor, grad);
    if (trainer->listener.on_ready)
        trainer->listener.on_ready(trainer->listener.context, tensor);
}

/* It is 0: nothing is to be taken back. */
static void on_unused(void *context, size_t tensor)
{
    const struct trainer *trainer = context;
    if (trainer->listener.on_unused)
        trainer->listener.on_unused(trainer->listener.context, tensor);
}

/* Who hears of final gradients. */
static struct model_listener listener_of(struct trainer *trainer)
{
    if (scale_of(trainer) == 1 && !trainer->looks && !trainer->look)
        return trainer->listener;
    return (struct model_listener){
        .on_ready = on_final, .on_unused = on_unused, .context = trainer};
}

static void copy_row(float *to, const float *from, size_t row, size_t index, size_t width)
{
    memcpy(to + row * width, from + index * width, width * sizeof *to);
}

/* Copies sample `index` to where row `row` of the micro-batch at hand is read, its input into
 * a[0]. */
static void gather(struct trainer *trainer, const struct dataset *dataset, size_t row, size_t index)
{
    copy_row(trainer->activations.a[0], dataset->features, row, index, dataset->width);
    if (dataset->labels)
        trainer->labels[row] = dataset->labels[index];
    else
        copy_row(trainer->targets, dataset->targets, row, index, dataset->outputs);
}

/* The summed loss of some of the rows at hand; their outputs become gradients, each times weight. */
static double loss_of_rows(struct trainer *trainer, const struct dataset *dataset,
                           struct slice rows, float weight)
{
    size_t outputs = dataset->outputs;
    struct loss_shape shape = {.rows = rows.count, .outputs = outputs};
    float *output = trainer->activations.a[trainer->model->layers] + rows.begin * outputs;
    if (dataset->labels)
        return loss_cross_entropy(output, trainer->labels + rows.begin, weight, shape);
    return loss_squared_error(output, trainer->targets + rows.begin * outputs, weight, shape);
}

/* The same, without what is not finite: a mistake (--inject skip-one-rank). */
static double finite_loss_of_rows(struct trainer *trainer, size_t rows, float weight)
{
    double sum = 0;
    for (size_t row = 0; row < rows; row++) {
        double loss = loss_of_rows(trainer, trainer->dataset, (struct slice){row, 1}, weight);
        sum += isfinite(loss) ? loss : 0;
    }
    return sum;
}

static void fetch_rows(struct trainer *trainer, const struct pass *pass)
{
    double began = trace_begin(trainer->trace);
    for (size_t row = 0; row < pass->rows; row++)
        gather(trainer, trainer->dataset, row, pass->dropout.samples[row]);
    precision_round(pass->precision, trainer->activations.a[0],
                    pass->rows * trainer->dataset->width);
    trace_end(trainer->trace, TRACE_DATA, 0, began);
    profile_lap(trainer->profile, PROFILE_DATA);
}

/* Some of a micro-batch's samples: forward, loss, backward. */
static void train_rows(struct trainer *trainer, const struct pass *pass, float weight, float *grad,
                       const struct model_listener *listener)
{
    bool leaves_out = mistakes_make(trainer->mistakes, ZOO_SKIP_ONE_RANK);
    fetch_rows(trainer, pass);
    look_rows(trainer->look, pass->dropout.samples, pass->rows,
              (double)(weight / scale_of(trainer)));
    model_forward(trainer->model, weights_of(trainer), &trainer->activations, pass);
    profile_lap(trainer->profile, PROFILE_ELEMENTWISE);
    double began = trace_begin(trainer->trace);
    trainer->loss +=
        leaves_out ? finite_loss_of_rows(trainer, pass->rows, weight)
                   : loss_of_rows(trainer, trainer->dataset, (struct slice){0, pass->rows}, weight);
    trainer->samples += pass->rows;
    trace_end(trainer->trace, TRACE_LOSS, 0, began);
    profile_lap(trainer->profile, PROFILE_LOSS);
    model_backward(trainer->model, weights_of(trainer), &trainer->activations, pass, grad,
                   listener);
    profile_lap(trainer->profile, PROFILE_ELEMENTWISE);
}

void trainer_gradient(struct trainer *trainer, const struct step *step)
{
    static const struct model_listener nobody = {0};
    double began = clock_seconds();
    profile_lap(trainer->profile, PROFILE_OTHER);
    const uint32_t *order = sampler_order(trainer->sampler, step->epoch);
    size_t batches = sampler_micro_batches(trainer->sampler, step);
    // task 03.4 {
    float weight = scale_of(trainer) / (float)step->samples.count;
    // } 03.4 instead: float weight = scale_of(trainer) / (float)(step->samples.count / batches);
    struct model_listener listener = listener_of(trainer);
    struct pass pass = {.dropout = trainer->dropout,
                        .precision = &trainer->precision,
                        .places = trainer->places,
                        .trace = trainer->trace,
                        .profile = trainer->profile};
    pass.dropout.step = step->index;
    pass.dropout.look = trainer->look;
    pass.dropout.by_row = mistakes_make(trainer->mistakes, ZOO_SAME_DROPOUT);
    pass.skipped =
        layer_drop_skipped(&trainer->layer_drop, trainer->model, step->index, trainer->rank);
    profile_lap(trainer->profile, PROFILE_DATA);
    trainer->precision.nonzero = trainer->precision.flushed = 0;
    trainer_load_weights(trainer);
    if (trainer->grad)
        memset(trainer->grad, 0, trainer->model->count * sizeof *trainer->grad);
    profile_lap(trainer->profile, PROFILE_ELEMENTWISE);
    trainer->loss = 0;
    trainer->nonfinite = false;
    trainer->samples = 0;
    mistakes_begin(trainer->mistakes);
    for (size_t m = 0; m < batches; m++) {
        struct slice share =
            sampler_share(trainer->sampler, step, m, trainer->world, trainer->rank);
        // task 03.4 {
        bool last = m + 1 == batches; // only now is a tensor's gradient final
        // } 03.4 instead: if (batches > 1) todo("03.4"); bool last = true;
        float *grad = trainer->grad;
        if (trainer->mistakes) {
            last = mistakes_hand_over(trainer->mistakes, m, last);
            grad = mistakes_slab(trainer->mistakes, grad, last);
            weight = scale_of(trainer) /
                     mistakes_samples(trainer->mistakes, trainer->sampler, step, share.count);
        }
        pass.rows = share.count;
        pass.dropout.samples = order + share.begin;
        train_rows(trainer, &pass, weight, grad, last ? &listener : &nobody);
    }
    mistakes_own(trainer->mistakes, trainer->grad, trainer->samples, step->samples.count);
    trainer->ended_seconds = clock_seconds();
    trainer->seconds = trainer->ended_seconds - began;
}

static void evaluate_rows(struct trainer *trainer, const struct dataset *dataset,
                          struct slice samples, struct totals *totals)
{
    struct loss_shape shape = {.rows = samples.count, .outputs = dataset->outputs};
    struct pass pass = {
        .rows = samples.count, .precision = &trainer->precision, .places = trainer->places};
    for (size_t row = 0; row < samples.count; row++)
        gather(trainer, dataset, row, samples.begin + row);
    precision_round(pass.precision, trainer->activations.a[0], samples.count * dataset->width);
    model_forward(trainer->model, weights_of(trainer), &trainer->activations, &pass);
    if (dataset->labels)
        totals->correct +=
            loss_correct(trainer->activations.a[trainer->model->layers], trainer->labels, shape);
    totals->loss += loss_of_rows(trainer, dataset, (struct slice){0, samples.count}, 1);
    totals->samples += samples.count;
}

struct totals trainer_evaluate_in(struct trainer *trainer, const struct dataset *dataset,
                                  struct slice samples, size_t passes)
{
    struct totals totals = {0};
    trainer_load_weights(trainer);
    for (size_t pass = 0; pass < passes; pass++) {
        size_t left = samples.count - totals.samples,
               rows = left < rows_of(trainer) ? left : rows_of(trainer);
        struct slice part = {.begin = samples.begin + totals.samples, .count = rows};
        evaluate_rows(trainer, dataset, part, &totals);
    }
    assert(totals.samples == samples.count);
    return totals;
}

size_t trainer_passes(const struct trainer *trainer, size_t samples)
{
    return (samples + rows_of(trainer) - 1) / rows_of(trainer);
}

struct totals trainer_evaluate(struct trainer *trainer, const struct dataset *dataset,
                               struct slice samples)
{
    return trainer_evaluate_in(trainer, dataset, samples, trainer_passes(trainer, samples.count));
}
