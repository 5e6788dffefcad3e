/* sketch: a long array in two numbers. See the header. */
#include "common/sketch.h"

#include <string.h>

enum { LANES = 8 }; // sums of their own: one would wait for its last addition at every element

/* +-x, as the highest bit of a hash of its position says. */
static float with_sign(float x, uint32_t position)
{
    static const uint32_t sign = 0x80000000, golden = 0x9E3779B1, other = 0x85EBCA77;
    uint32_t hash = position * golden, bits;
    hash = (hash ^ hash >> 15) * other;
    memcpy(&bits, &x, sizeof bits);
    bits ^= hash & sign;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void sketch_add(struct sketch *sketch, const float *x, size_t count, size_t first)
{
    double sum[LANES] = {0}, squares[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            double value = (double)with_sign(x[i + lane], (uint32_t)(first + i + lane));
            sum[lane] += value;
            squares[lane] += value * value;
        }
    for (; i < count; i++) {
        double value = (double)with_sign(x[i], (uint32_t)(first + i));
        sum[0] += value;
        squares[0] += value * value;
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        sketch->sum += sum[lane];
        sketch->squares += squares[lane];
    }
}

uint64_t sketch_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return bits ^ bits >> 31;
}
