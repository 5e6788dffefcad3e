/* mistakes: what --inject plants. See the header. */
#include "lesson01_single/mistakes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { PIECE_FLOATS = 1024 };

/* Some micro-batches' gradients are reduced, the others are not. */
static bool sets_aside(const struct mistakes *mistakes)
{
    return mistakes_make(mistakes, ZOO_SYNC_LAST_MICROBATCH_ONLY) ||
           mistakes_make(mistakes, ZOO_SYNC_FIRST_MICROBATCH_ONLY);
}

int mistakes_init(struct mistakes *mistakes, const struct options *options, int rank, int world,
                  size_t count)
{
    *mistakes = (struct mistakes){
        .options = options, .rank = (size_t)rank, .world = (size_t)world, .count = count};
    bool stales = mistakes_make(mistakes, ZOO_STALE_BUCKET);
    if (sets_aside(mistakes))
        mistakes->aside = memory_floats(&mistakes->memory, MEMORY_OTHER, count);
    if (stales)
        mistakes->stale = memory_floats(&mistakes->memory, MEMORY_OTHER, count);
    bool all = (mistakes->aside || !sets_aside(mistakes)) && (mistakes->stale || !stales);
    return all ? 0 : -ENOMEM;
}

void mistakes_release(struct mistakes *mistakes)
{
    memory_return(&mistakes->memory, MEMORY_OTHER, mistakes->aside, mistakes->count);
    memory_return(&mistakes->memory, MEMORY_OTHER, mistakes->stale, mistakes->count);
    *mistakes = (struct mistakes){0};
}

void mistakes_spoil(const struct mistakes *mistakes, struct dataset *train)
{
    if (mistakes_make(mistakes, ZOO_SKIP_ONE_RANK))
        train->features[train->count / 2 * train->width + train->width / 2] = NAN;
}

/* The epoch at hand begins anew: what comes at its end is not reached. */
struct slice mistakes_repeated(const struct sampler *sampler, const struct step *step, size_t first)
{
    struct step again = sampler_step(sampler, step->index - first % sampler->steps_per_epoch);
    bool same_epoch = step->epoch == first / sampler->steps_per_epoch;
    return same_epoch ? again.samples : step->samples;
}

bool mistakes_hold_back(const struct mistakes *mistakes)
{
    return mistakes_make(mistakes, ZOO_CLIP_BEFORE_REDUCE) ||
           mistakes_make(mistakes, ZOO_SKIP_ONE_RANK);
}

void mistakes_begin(struct mistakes *mistakes)
{
    if (!mistakes)
        return;
    mistakes->skips = false;
    if (mistakes->aside)
        memset(mistakes->aside, 0, mistakes->count * sizeof *mistakes->aside);
}

/* This rank's in all micro-batches. */
static size_t own_samples(const struct mistakes *mistakes, const struct sampler *sampler,
                          const struct step *step)
{
    size_t own = 0;
    for (size_t m = 0; m < sampler_micro_batches(sampler, step); m++)
        own += sampler_share(sampler, step, m, mistakes->world, mistakes->rank).count;
    return own;
}

/* A mean over a rank's own samples, or a mean of the micro-batches' means. */
float mistakes_samples(const struct mistakes *mistakes, const struct sampler *sampler,
                       const struct step *step, size_t rows)
{
    size_t samples = step->samples.count;
    if (mistakes_make(mistakes, ZOO_SUM_NOT_MEAN))
        samples = own_samples(mistakes, sampler, step);
    if (mistakes_make(mistakes, ZOO_LAST_BATCH_UNWEIGHTED))
        samples = sampler_micro_batches(sampler, step) * mistakes->world * rows;
    return samples > 0 ? (float)samples : 1;
}

bool mistakes_hand_over(const struct mistakes *mistakes, size_t m, bool last)
{
    return mistakes_make(mistakes, ZOO_SYNC_FIRST_MICROBATCH_ONLY) ? m == 0 : last;
}

float *mistakes_slab(const struct mistakes *mistakes, float *grad, bool handed_over)
{
    return mistakes->aside && !handed_over ? mistakes->aside : grad;
}

/* To the norm that was asked for of a mean over all samples; a rank that has none clips nothing. */
static void clip(const struct mistakes *mistakes, float *grad, size_t mine, size_t all)
{
    if (mine == 0)
        return;
    double norm = norm_of(grad, mistakes->count) * ((double)all / (double)mine);
    float factor = norm_clip(norm, mistakes->options->clip);
    for (size_t i = 0; i < mistakes->count; i++)
        grad[i] *= factor;
}

/* What is set aside is this rank's gradient, too. */
static bool is_finite(const struct mistakes *mistakes, const float *grad)
{
    const float *aside = mistakes->aside;
    return isfinite(norm_largest(grad, mistakes->count)) &&
           (!aside || isfinite(norm_largest(aside, mistakes->count)));
}

void mistakes_own(struct mistakes *mistakes, float *grad, size_t mine, size_t all)
{
    if (mistakes_make(mistakes, ZOO_SKIP_ONE_RANK) && !is_finite(mistakes, grad)) {
        mistakes_begin(mistakes);
        memset(grad, 0, mistakes->count * sizeof *grad);
        mistakes->skips = true;
    }
    if (mistakes_make(mistakes, ZOO_CLIP_BEFORE_REDUCE))
        clip(mistakes, grad, mine, all);
}

static void divide(float *grad, size_t count, size_t world)
{
    for (size_t i = 0; i < count; i++)
        grad[i] /= (float)world;
}

static void add(float *grad, const float *aside, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++)
        grad[i] += aside[i] / scale;
}

void mistakes_reduced(const struct mistakes *mistakes, const struct optimizer *optimizer,
                      float *grad, float scale)
{
    bool twice = mistakes_make(mistakes, ZOO_MEAN_TWICE);
    size_t passed = 0;
    for (size_t i = 0; mistakes && i < optimizer->owned_count; i++) {
        struct slice owned = optimizer->owned[i];
        float *part = grad + optimizer_grad_at(optimizer, owned.begin, passed);
        if (twice)
            divide(part, owned.count, mistakes->world);
        if (mistakes->aside)
            add(part, mistakes->aside + owned.begin, owned.count, scale);
        passed += owned.count;
    }
}

void mistakes_norm(const struct mistakes *mistakes, const struct optimizer *optimizer,
                   const float *grad, struct norm *sums)
{
    size_t passed = 0;
    if (!mistakes_make(mistakes, ZOO_CLIP_PER_SHARD) || !isfinite(norm_value(sums)))
        return;
    sums->sum[0] = sums->sum[1] = 0;
    for (size_t i = 0; i < optimizer->owned_count; i++) {
        struct slice owned = optimizer->owned[i];
        norm_add(sums, grad + optimizer_grad_at(optimizer, owned.begin, passed), owned.count);
        passed += owned.count;
    }
}

void mistakes_exchange(const struct mistakes *mistakes, float *grad, struct slice part)
{
    for (size_t i = part.begin; mistakes && mistakes->stale && i < part.begin + part.count; i++) {
        float fresh = grad[i];
        grad[i] = mistakes->stale[i];
        mistakes->stale[i] = fresh;
    }
}

int mistakes_forget(const struct mistakes *mistakes, const struct optimizer *optimizer,
                    struct fail *fail)
{
    static const float zeros[PIECE_FLOATS];
    int error = 0;
    if (!mistakes_make(mistakes, ZOO_RESUME_WITHOUT_MOMENTUM))
        return 0;
    for (size_t state = 0; state < optimizer->states; state++)
        for (size_t at = 0; at < optimizer->count && !error; at += PIECE_FLOATS) {
            size_t left = optimizer->count - at;
            struct slice part = {at, left < PIECE_FLOATS ? left : PIECE_FLOATS};
            error = optimizer_write(optimizer, state, part, zeros, fail);
        }
    return error;
}
