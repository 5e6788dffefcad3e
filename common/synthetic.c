/* synthetic: a regression set of small dyadic rationals. See the header. */
#include "common/synthetic.h"
#include "common/rng.h"

enum { SAMPLES = 320, WIDTH = 8, OUTPUTS = 2 };
enum { WEIGHTS_STREAM, FEATURES_STREAM };

/* A whole number of -most .. most, in units of 1/unit. */
static float draw(const struct rng *rng, uint64_t index, int most, float unit)
{
    int whole = (int)(rng_bits(rng, index) % (uint32_t)(2 * most + 1)) - most;
    return (float)whole / unit;
}

int synthetic_make(struct table *table, uint64_t seed, struct memory *memory, struct fail *fail)
{
    int code = table_init(table, "synthetic", memory, fail);
    if (code == 0)
        code = table_size(table, SAMPLES, WIDTH, OUTPUTS, fail);
    if (code < 0)
        return code;
    table->unit = "index";
    table->first = 0;
    table->task = TASK_REGRESS;
    table->holds_test = true;
    struct rng weights = {.seed = seed, .stream = RNG_SYNTHETIC, .sub = WEIGHTS_STREAM};
    struct rng features = {.seed = seed, .stream = RNG_SYNTHETIC, .sub = FEATURES_STREAM};
    for (size_t i = 0; i < SAMPLES * WIDTH; i++)
        table->features[i] = draw(&features, i, 2, 2);
    for (size_t i = 0; i < SAMPLES * OUTPUTS; i++)
        for (size_t j = 0; j < WIDTH; j++)
            table->targets[i] += draw(&weights, i % OUTPUTS * WIDTH + j, 4, 4) *
                                 table->features[i / OUTPUTS * WIDTH + j];
    return 0;
}
