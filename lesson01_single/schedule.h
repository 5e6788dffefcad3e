/*
 * schedule: the learning rate of an update. Counted in updates, whatever the world.
 *
 *     warm-up     lr (u + 1) / warmup                          for u < warmup, then one of
 *     constant    lr
 *     linear      lr (1 - x)                x = (u - warmup) / (updates - warmup)
 *     cosine      lr (1 + cos(pi x)) / 2
 *     halve:K     lr / 2^(u / K), u / K rounded down
 *
 * --lr-scale multiplies lr by s = batch * accumulate / 64, or by its square root: Goyal et al.,
 * "Accurate, Large Minibatch SGD", 2017, section 2.1. The samples are those asked for, also where an
 * update gets fewer: the last of an epoch, or all where the data set is smaller.
 */
#ifndef LESSON01_SCHEDULE_H
#define LESSON01_SCHEDULE_H

#include "common/options.h"

#include <stddef.h>

/* Of update u (from 0) of a run of `updates`. */
double schedule_lr(const struct options *options, size_t update, size_t updates);

#endif
