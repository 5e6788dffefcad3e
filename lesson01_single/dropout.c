/* dropout: units left out of training at random. See the header. */
#include "lesson01_single/dropout.h"
#include "common/rng.h"
#include "lesson01_single/look.h"

enum { WORDS = 4 }; // random numbers that come together

/* Which four numbers: 41 bits of the step, 5 of the layer, 18 of the unit; the sample is the stream's
 * `sub`. Steps, layers and widths that the options accept do not meet. */
static uint64_t block_of(const struct dropout *dropout, size_t layer, size_t unit)
{
    return (uint64_t)dropout->step << 23 | (uint64_t)layer << 18 | unit / WORDS;
}

static float scale_of(const struct dropout *dropout)
{
    return 1 / (1 - dropout->rate);
}

static float factor_of(float rate, float scale, uint32_t bits)
{
    float uniform =
        (float)(int32_t)(bits >> 8) * 0x1p-24f; // in [0, 1); from 24 bits the sign is free
    return uniform < rate ? 0 : scale;
}

float dropout_factor(const struct dropout *dropout, uint32_t sample, size_t layer, size_t unit)
{
    struct rng rng = {.seed = dropout->seed, .stream = RNG_DROPOUT, .sub = sample};
    uint32_t words[WORDS];
    if (dropout->rate == 0)
        return 1;
    rng_block(&rng, block_of(dropout, layer, unit), words);
    return factor_of(dropout->rate, scale_of(dropout), words[unit % WORDS]);
}

/* A product, not a choice: a NaN stays a NaN, also where it would be left out. */
static void row_forward(const struct dropout *dropout, const struct rng *rng, size_t layer,
                        float *y, size_t width)
{
    uint32_t words[WORDS];
    float rate = dropout->rate, scale = scale_of(dropout);
    for (size_t unit = 0; unit < width; unit += WORDS) {
        size_t most = width - unit < WORDS ? width - unit : WORDS;
        rng_block(rng, block_of(dropout, layer, unit), words);
        for (size_t i = 0; i < most; i++)
            y[unit + i] *= factor_of(rate, scale, words[i]);
    }
}

/* The same numbers once more. */
static void show_mask(const struct dropout *dropout, const struct rng *rng, size_t layer,
                      size_t width)
{
    uint32_t words[WORDS];
    for (size_t unit = 0; unit < width; unit++) {
        if (unit % WORDS == 0)
            rng_block(rng, block_of(dropout, layer, unit), words);
        look_mask(dropout->look, unit, factor_of(dropout->rate, 1, words[unit % WORDS]) > 0);
    }
}

void dropout_forward(const struct dropout *dropout, size_t layer, float *y, size_t rows,
                     size_t width)
{
    struct rng rng = {.seed = dropout->seed, .stream = RNG_DROPOUT};
    for (size_t row = 0; row < rows && dropout->rate > 0; row++) {
        rng.sub = dropout->by_row ? (uint32_t)row : dropout->samples[row];
        row_forward(dropout, &rng, layer, y + row * width, width);
        if (look_wants_mask(dropout->look, layer, row))
            show_mask(dropout, &rng, layer, width);
    }
}

void dropout_backward(const struct dropout *dropout, float *dy, size_t count)
{
    float scale = scale_of(dropout);
    for (size_t i = 0; i < count && scale > 1; i++)
        dy[i] *= scale;
}
