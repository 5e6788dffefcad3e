/* rng: Philox4x32-10, a bijection of 128 bits under a 64-bit key. See the header. */
#include "common/rng.h"

enum { ROUNDS = 10 };

static const uint32_t MULTIPLY_0 = 0xD2511F53, MULTIPLY_1 = 0xCD9E8D57;
static const uint32_t WEYL_0 = 0x9E3779B9, WEYL_1 = 0xBB67AE85;

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t key_0 = key[0], key_1 = key[1];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = (uint64_t)MULTIPLY_0 * c0, b = (uint64_t)MULTIPLY_1 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ key_0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ key_1;
        c3 = (uint32_t)a;
        key_0 += WEYL_0;
        key_1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void rng_block(const struct rng *rng, uint64_t block, uint32_t out[4])
{
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), rng->sub,
                           (uint32_t)rng->stream};
    uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    rng_philox(counter, key, out);
}

uint32_t rng_bits(const struct rng *rng, uint64_t index)
{
    uint32_t out[4];
    rng_block(rng, index / 4, out);
    return out[index % 4];
}

float rng_uniform(const struct rng *rng, uint64_t index)
{
    return (float)(rng_bits(rng, index) >> 8) * 0x1p-24f;
}

/* A number below `bound`, from 64 random bits: biased by less than bound / 2^64. */
static size_t below(const struct rng *rng, uint64_t index, size_t bound)
{
    uint64_t bits = (uint64_t)rng_bits(rng, 2 * index) << 32 | rng_bits(rng, 2 * index + 1);
    return (size_t)(bits % bound);
}

void rng_permutation(const struct rng *rng, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = below(rng, i, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}
