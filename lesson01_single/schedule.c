/* schedule: the learning rate of an update. See the header for the formulas. */
#include "lesson01_single/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double base_lr(const struct options *options)
{
    double scale = (double)(options->batch * options->accumulate) / 64;
    switch (options->lr_scale) {
    case LR_SCALE_LINEAR:
        return options->lr * scale;
    case LR_SCALE_SQRT:
        return options->lr * sqrt(scale);
    case LR_SCALE_NONE:
        break;
    }
    return options->lr;
}

double schedule_lr(const struct options *options, size_t update, size_t updates)
{
    double lr = base_lr(options);
    size_t warmup = options->warmup;
    if (update < warmup)
        return lr * (double)(update + 1) / (double)warmup;
    double x = updates > warmup ? (double)(update - warmup) / (double)(updates - warmup) : 0;
    switch (options->schedule) {
    case SCHEDULE_LINEAR:
        return lr * (1 - x);
    case SCHEDULE_COSINE:
        return lr * (1 + cos(PI * x)) / 2;
    case SCHEDULE_HALVE:
        return ldexp(lr, -(int)(update / options->halve_every));
    case SCHEDULE_CONSTANT:
        break;
    }
    return lr;
}
