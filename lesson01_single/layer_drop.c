/* layer_drop: whole layers left out of an update at random. See the header. */
#include "lesson01_single/layer_drop.h"
#include "common/rng.h"

enum { COINS = 32 }; // of an update: bits of a pass's `skipped`

bool layer_drop_may(const struct model *model, size_t layer)
{
    return layer + 1 < model->layers && model->widths[layer] == model->widths[layer + 1];
}

bool layer_drop_may_any(const struct model *model)
{
    for (size_t layer = 0; layer < model->layers; layer++)
        if (layer_drop_may(model, layer))
            return true;
    return false;
}

uint32_t layer_drop_skipped(const struct layer_drop *drop, const struct model *model, size_t step,
                            size_t rank)
{
    struct rng rng = {.seed = drop->seed, .stream = RNG_LAYER_DROP, .sub = (uint32_t)rank};
    uint32_t skipped = 0;
    for (size_t layer = 0; layer < model->layers && drop->rate > 0; layer++) {
        double coin = (double)rng_uniform(&rng, (uint64_t)step * COINS + layer);
        if (layer_drop_may(model, layer) && coin < drop->rate)
            skipped |= UINT32_C(1) << layer;
    }
    return skipped;
}
