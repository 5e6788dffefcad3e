/* optimizer: SGD with momentum, Adam, AdamW, over the slices it owns. See the header. */
#include "lesson01_single/optimizer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-8;

size_t optimizer_states(const struct options *options)
{
    if (options->optimizer != OPTIMIZER_SGD)
        return 2;
    return options->momentum > 0 ? 1 : 0;
}

int optimizer_init(struct optimizer *optimizer, const struct options *options,
                   const struct model *model, const struct slice *owned, size_t owned_count,
                   struct memory *memory)
{
    *optimizer = (struct optimizer){
        .kind = options->optimizer,
        .momentum = options->momentum,
        .weight_decay = options->weight_decay,
        .model = model,
        .owned = owned,
        .owned_count = owned_count,
        .states = optimizer_states(options),
        .memory = memory,
    };
    for (size_t i = 0; i < owned_count; i++)
        optimizer->count += owned[i].count;
    for (size_t i = 0; i < optimizer->states && !options->offload; i++) {
        optimizer->state[i] = memory_floats(memory, MEMORY_OPTIMIZER, optimizer->count);
        if (!optimizer->state[i]) {
            optimizer_release(optimizer);
            return -ENOMEM;
        }
    }
    return 0;
}

void optimizer_release(struct optimizer *optimizer)
{
    for (size_t i = 0; i < optimizer->states; i++)
        memory_return(optimizer->memory, MEMORY_OPTIMIZER, optimizer->state[i], optimizer->count);
    *optimizer = (struct optimizer){0};
}

/* One run of elements that share one decay. The states start at the run's first element. */
struct run_of {
    float *restrict param;
    const float *restrict grad;
    float *restrict state[OPTIMIZER_STATES_MOST];
    size_t count;
    float decay;
};

/* v = momentum v + (g + decay w);  w -= lr v */
static void sgd(const struct optimizer *optimizer, const struct run_of *run, struct rate rate)
{
    // task 01.3 {
    float momentum = (float)optimizer->momentum, decay = run->decay;
    float *restrict w = run->param, *restrict v = run->state[0];
    const float *restrict grad = run->grad;
    for (size_t i = 0; i < run->count && v; i++) {
        v[i] = momentum * v[i] + (grad[i] * rate.clip + decay * w[i]);
        w[i] -= rate.lr * v[i];
    }
    for (size_t i = 0; i < run->count && !v; i++) // no momentum, no state
        w[i] -= rate.lr * (grad[i] * rate.clip + decay * w[i]);
    // } 01.3
}

/*
 * m = b1 m + (1 - b1) g
 * v = b2 v + (1 - b2) g^2
 * w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + e)
 *
 * Decay: Adam adds decay w to g; AdamW first multiplies w by 1 - lr decay.
 */
static void adam(const struct optimizer *optimizer, const struct run_of *run, struct rate rate)
{
    // task 01.4 {
    double t = (double)(optimizer->updates - optimizer->skipped) + 1;
    float size = (float)((double)rate.lr / (1 - pow(BETA_1, t)));
    float correct = (float)(1 / sqrt(1 - pow(BETA_2, t)));
    float b1 = (float)BETA_1, c1 = (float)(1 - BETA_1), b2 = (float)BETA_2,
          c2 = (float)(1 - BETA_2);
    float epsilon = (float)EPSILON;
    bool decoupled = optimizer->kind == OPTIMIZER_ADAMW;
    float shrink = decoupled ? (float)(1 - (double)rate.lr * (double)run->decay) : 1;
    float decay = decoupled ? 0 : run->decay;
    float *restrict w = run->param, *restrict m = run->state[0], *restrict v = run->state[1];
    const float *restrict grad = run->grad;
    for (size_t i = 0; i < run->count; i++) {
        float g = grad[i] * rate.clip + decay * w[i];
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        w[i] = shrink * w[i] - size * m[i] / (sqrtf(v[i]) * correct + epsilon);
    }
    // } 01.4
}

static void update(const struct optimizer *optimizer, const struct run_of *run, struct rate rate)
{
    if (optimizer->kind == OPTIMIZER_SGD)
        sgd(optimizer, run, rate);
    else
        adam(optimizer, run, rate);
}

size_t optimizer_param_at(const struct optimizer *optimizer, size_t at, size_t state)
{
    return optimizer->packed_param ? state : at;
}

size_t optimizer_grad_at(const struct optimizer *optimizer, size_t at, size_t state)
{
    return optimizer->packed_grad ? state : at;
}

/* The arrays of an update. */
struct arrays {
    float *param;
    const float *grad;
    float *const *state; // of these the first element is the owned element `first`
    size_t first;
};

static float *param_at(const struct optimizer *optimizer, const struct arrays *arrays, size_t slab,
                       size_t owned)
{
    if (optimizer->tiled_param)
        return arrays->param + (owned - arrays->first);
    return arrays->param + optimizer_param_at(optimizer, slab, owned);
}

/* Weights decay and biases do not: a slice is updated tensor by tensor. `owned` is the position of
 * the slice's first element among those owned. */
static void update_slice(const struct optimizer *optimizer, const struct arrays *arrays,
                         struct slice slice, size_t owned, struct rate rate)
{
    for (size_t i = 0; i < optimizer->model->tensor_count; i++) {
        const struct tensor *tensor = &optimizer->model->tensors[i];
        struct slice part = slice_overlap(tensor->slice, slice);
        size_t at = owned + (part.begin - slice.begin);
        if (part.count == 0 || tensor->frozen)
            continue;
        struct run_of run = {
            .param = param_at(optimizer, arrays, part.begin, at),
            .grad = arrays->grad + optimizer_grad_at(optimizer, part.begin, at),
            .count = part.count,
            .decay =
                tensor->decays || optimizer->decays_biases ? (float)optimizer->weight_decay : 0,
        };
        for (size_t j = 0; j < optimizer->states; j++)
            run.state[j] = arrays->state[j] + (at - arrays->first);
        look_update(optimizer->look, i, part, run.grad, run.decay > 0);
        update(optimizer, &run, rate);
    }
}

void optimizer_part_step(const struct optimizer *optimizer, float *param, const float *grad,
                         float *const *state, struct slice part, struct rate rate)
{
    struct arrays arrays = {param, grad, state, part.begin};
    size_t passed = 0;
    for (size_t i = 0; i < optimizer->owned_count && !rate.skip; i++) {
        struct slice owned = optimizer->owned[i];
        struct slice mine = slice_overlap((struct slice){passed, owned.count}, part);
        struct slice slice = {owned.begin + (mine.begin - passed), mine.count};
        if (mine.count > 0)
            update_slice(optimizer, &arrays, slice, mine.begin, rate);
        passed += owned.count;
    }
}

void optimizer_count(struct optimizer *optimizer, struct rate rate)
{
    look_count(optimizer->look, !rate.skip, (double)rate.clip);
    optimizer->updates++;
    optimizer->skipped += rate.skip;
}

void optimizer_step(struct optimizer *optimizer, float *param, const float *grad, struct rate rate)
{
    struct slice all = {.begin = 0, .count = optimizer->count};
    double began = trace_begin(optimizer->trace);
    optimizer_part_step(optimizer, param, grad, optimizer->state, all, rate);
    optimizer_count(optimizer, rate);
    trace_end(optimizer->trace, TRACE_OPTIMIZER, 0, began);
    profile_lap(optimizer->profile, PROFILE_OPTIMIZER);
}

struct slice optimizer_part(const struct optimizer *optimizer, const struct tensor *tensor,
                            size_t *state)
{
    size_t passed = 0;
    for (size_t i = 0; i < optimizer->owned_count; i++) {
        struct slice owned = optimizer->owned[i], part = slice_overlap(tensor->slice, owned);
        *state = passed + (part.begin - owned.begin);
        if (part.count > 0)
            return part;
        passed += owned.count;
    }
    *state = 0;
    return (struct slice){.begin = tensor->slice.begin, .count = 0};
}

int optimizer_read(const struct optimizer *optimizer, size_t state, struct slice part,
                   float *values, struct fail *fail)
{
    const struct optimizer_store *store = optimizer->store;
    if (store)
        return store->read(store->context, state, part, values, fail);
    memcpy(values, optimizer->state[state] + part.begin, part.count * sizeof *values);
    return 0;
}

int optimizer_write(const struct optimizer *optimizer, size_t state, struct slice part,
                    const float *values, struct fail *fail)
{
    const struct optimizer_store *store = optimizer->store;
    if (store)
        return store->write(store->context, state, part, values, fail);
    memcpy(optimizer->state[state] + part.begin, values, part.count * sizeof *values);
    return 0;
}

const char *optimizer_state_name(const struct optimizer *optimizer, size_t state)
{
    static const char *const adam_names[] = {"adam_m", "adam_v"};
    return optimizer->kind == OPTIMIZER_SGD ? "momentum" : adam_names[state];
}
