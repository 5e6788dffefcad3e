/*
 * sketch: a long array in two numbers. See the header.
 *
 * An element's sign is that of its place in a block of 64, one pattern for all blocks, times that of its block. So
 * a block costs one hash, and the rest is a loop that vectorises.
 */
#include "common/sketch.h"

#include <string.h>

enum { LANES = 8, BLOCK = 64 }; // lanes: sums of their own, or one would wait for its last addition

struct lanes {
    double sum[LANES], squares[LANES];
};

static uint32_t sign_of(uint64_t bits)
{
    return (uint32_t)(bits >> 63) << 31;
}

/* `count` elements, a multiple of LANES, of one block; flips are those of their places. */
static void add(struct lanes *lanes, const float *x, size_t count, const uint32_t *flips,
                uint32_t block)
{
    struct lanes here = *lanes; // in registers
    for (size_t i = 0; i < count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            uint32_t bits;
            float signed_x;
            memcpy(&bits, x + i + lane, sizeof bits);
            bits ^= flips[i + lane] ^ block;
            memcpy(&signed_x, &bits, sizeof signed_x);
            double value = (double)signed_x;
            here.sum[lane] += value;
            here.squares[lane] += value * value;
        }
    *lanes = here;
}

void sketch_add(struct sketch *sketch, const float *x, size_t count, size_t first)
{
    struct lanes lanes = {0};
    uint32_t flips[BLOCK + LANES] = {0};
    for (size_t i = 0; i < BLOCK; i++)
        flips[i] = sign_of(sketch_mix(i));
    while (count > 0) {
        size_t place = first % BLOCK, left = BLOCK - place, part = count < left ? count : left;
        size_t whole = part - part % LANES;
        uint32_t block = sign_of(sketch_mix(BLOCK + first / BLOCK));
        float rest[LANES] = {0};
        add(&lanes, x, whole, flips + place, block);
        memcpy(rest, x + whole, (part - whole) * sizeof *rest);
        if (whole < part)
            add(&lanes, rest, LANES, flips + place + whole, block);
        x += part;
        first += part;
        count -= part;
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        sketch->sum += lanes.sum[lane];
        sketch->squares += lanes.squares[lane];
    }
}

uint64_t sketch_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return bits ^ bits >> 31;
}
