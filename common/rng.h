/*
 * rng: random numbers without a state. The i-th number of a stream is a function of
 * (seed, stream, i), so any rank can draw any number, in any order, and gets the same one.
 *
 * Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3",
 * SC 2011, section 3.3. Integer arithmetic only: the same on every machine.
 */
#ifndef COMMON_RNG_H
#define COMMON_RNG_H

#include <stddef.h>
#include <stdint.h>

/* What a stream is drawn for. Streams never meet: drawing more of one changes no other.
 * `sub` below tells streams of one kind apart (the epoch, the layer). */
enum rng_stream {
    RNG_WEIGHTS,
    RNG_SHUFFLE,
    RNG_SYNTHETIC,
    RNG_SLOPE,
    RNG_BENCH,
    RNG_TEST,
    RNG_LINK,
    RNG_DROPOUT,
    RNG_LAYER_DROP
};

struct rng {
    uint64_t seed;
    enum rng_stream stream;
    uint32_t sub;
};

/* The 32 random bits number `index` of the stream. */
uint32_t rng_bits(const struct rng *rng, uint64_t index);

/* Numbers 4 * block to 4 * block + 3, which come at once. */
void rng_block(const struct rng *rng, uint64_t block, uint32_t out[4]);

/* Uniform in [0, 1), a multiple of 2^-24. */
float rng_uniform(const struct rng *rng, uint64_t index);

/* A permutation of 0 .. count-1 into order (count < 2^32): Fisher and Yates, every permutation
 * equally likely up to the generator's own quality. */
void rng_permutation(const struct rng *rng, uint32_t *order, size_t count);

/* The block function itself, for the known-answer test: out = Philox4x32-10(counter, key). */
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
