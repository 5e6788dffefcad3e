/* loss_scale: gradients too small for fp16 are carried larger. See the header. */
#include "lesson01_single/loss_scale.h"

struct loss_scale loss_scale_first(const struct options *options)
{
    bool dynamic = options->loss_scale == 0;
    return (struct loss_scale){
        .value = dynamic ? LOSS_SCALE_FIRST : (float)options->loss_scale,
        .dynamic = dynamic,
    };
}

void loss_scale_keep(struct loss_scale *scale)
{
    scale->good++;
    if (!scale->dynamic || scale->good < LOSS_SCALE_INTERVAL)
        return;
    scale->good = 0;
    if (scale->value < LOSS_SCALE_MOST)
        scale->value *= 2;
}

void loss_scale_back_off(struct loss_scale *scale)
{
    scale->value /= 2;
    scale->good = 0;
}

bool loss_scale_can_shrink(const struct loss_scale *scale)
{
    return scale->dynamic && scale->value > 1;
}
