/*
 * loss_scale: gradients too small for fp16 are carried larger, and made small again in float.
 *
 *     dloss/doutput  x scale  ->  backward in 16 bits  ->  dW in float  / scale  ->  all that follows
 *
 * A scale is a power of two, so that multiplying and dividing change no digit. dW is divided as soon
 * as it is final, before it is announced, sent or summed: gradients outside of backward are always
 * true ones, and reduction, proofs, dumps and clipping know of no scale.
 *
 * A dynamic scale finds its own size: too large, and some gradient overflows. Then no rank makes the
 * update (the reduced gradient tells all the same), and the scale halves; after 200 updates without
 * it doubles. torch.amp.GradScaler does the same (init_scale 65536, growth_factor 2, backoff_factor
 * 0.5), after 2000.
 */
#ifndef LESSON01_LOSS_SCALE_H
#define LESSON01_LOSS_SCALE_H

#include "common/options.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOSS_SCALE_INTERVAL = 200, LOSS_SCALE_FIRST = 65536, LOSS_SCALE_MOST = 1 << 24 };

struct loss_scale {
    float value; // 1: gradients are carried as they are
    bool dynamic;
    size_t good; // updates since the last change
};

/* As --loss-scale says. */
struct loss_scale loss_scale_first(const struct options *options);

/* After an update that was made, and after one that overflowed. */
void loss_scale_keep(struct loss_scale *scale);
void loss_scale_back_off(struct loss_scale *scale);

/* May an overflow be answered by a smaller scale? */
bool loss_scale_can_shrink(const struct loss_scale *scale);

#endif
