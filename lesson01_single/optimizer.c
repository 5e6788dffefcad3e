/* optimizer: SGD with momentum, Adam, AdamW, over the slices it owns. See the header. */
#include "lesson01_single/optimizer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

static const double BETA_1 = 0.9, BETA_2 = 0.999, EPSILON = 1e-8;

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
        .memory = memory,
    };
    for (size_t i = 0; i < owned_count; i++)
        optimizer->count += owned[i].count;
    if (options->optimizer != OPTIMIZER_SGD)
        optimizer->states = 2;
    else if (options->momentum > 0)
        optimizer->states = 1;
    for (size_t i = 0; i < optimizer->states; i++) {
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
    float momentum = (float)optimizer->momentum, decay = run->decay;
    float *restrict w = run->param, *restrict v = run->state[0];
    const float *restrict grad = run->grad;
    for (size_t i = 0; i < run->count && v; i++) {
        v[i] = momentum * v[i] + (grad[i] * rate.clip + decay * w[i]);
        w[i] -= rate.lr * v[i];
    }
    for (size_t i = 0; i < run->count && !v; i++) // no momentum, no state
        w[i] -= rate.lr * (grad[i] * rate.clip + decay * w[i]);
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
}

static void update(const struct optimizer *optimizer, const struct run_of *run, struct rate rate)
{
    if (optimizer->kind == OPTIMIZER_SGD)
        sgd(optimizer, run, rate);
    else
        adam(optimizer, run, rate);
}

/* Weights decay and biases do not: a slice is updated tensor by tensor. `state` is the position of
 * the slice's first element in the state arrays. */
static void update_slice(const struct optimizer *optimizer, float *param, const float *grad,
                         struct slice slice, size_t state, struct rate rate)
{
    for (size_t i = 0; i < optimizer->model->tensor_count; i++) {
        const struct tensor *tensor = &optimizer->model->tensors[i];
        struct slice part = slice_overlap(tensor->slice, slice);
        size_t offset = state + (part.begin - slice.begin);
        struct run_of run = {
            .param = param + part.begin,
            .grad = grad + part.begin,
            .count = part.count,
            .decay = tensor->decays ? (float)optimizer->weight_decay : 0,
        };
        for (size_t j = 0; j < optimizer->states && part.count > 0; j++)
            run.state[j] = optimizer->state[j] + offset;
        if (part.count > 0 && !tensor->frozen)
            update(optimizer, &run, rate);
    }
}

void optimizer_step(struct optimizer *optimizer, float *param, const float *grad, struct rate rate)
{
    size_t state = 0;
    double began = trace_begin(optimizer->trace);
    for (size_t i = 0; i < optimizer->owned_count && !rate.skip; i++) {
        update_slice(optimizer, param, grad, optimizer->owned[i], state, rate);
        state += optimizer->owned[i].count;
    }
    optimizer->updates++;
    optimizer->skipped += rate.skip;
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

const char *optimizer_state_name(const struct optimizer *optimizer, size_t state)
{
    static const char *const adam_names[] = {"adam_m", "adam_v"};
    return optimizer->kind == OPTIMIZER_SGD ? "momentum" : adam_names[state];
}
