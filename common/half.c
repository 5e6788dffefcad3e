/*
 * half: floats of 16 bits, and the way there and back. See the header.
 *
 * Rounding is one addition to the bits of a float: half a unit of the last bit that is kept, less
 * one where that bit is 0, so that a tie goes to the even neighbour. A carry out of the fraction
 * moves the exponent on, up to infinity, just as it should.
 */
#include "common/half.h"

#include <string.h>

static const uint32_t SIGN = 0x80000000, INFINITE = 0x7f800000, QUIET = 0x00400000;

/* As bits of floats: where fp16 turns infinite, 65520; and its smallest normal number, 2^-14. */
static const uint32_t FP16_INFINITE = 0x477ff000, FP16_NORMAL = 0x38800000;

/* The exponents of float and fp16 are biased by 127 and 15. */
static const uint32_t REBIAS = (127 - 15) << 23;

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The bits of a float with the last `dropped` of them rounded away, not yet cleared. */
static inline uint32_t rounded(uint32_t bits, int dropped)
{
    return bits + ((1u << (dropped - 1)) - 1) + (bits >> dropped & 1);
}

static inline uint32_t bf16_bits(float x)
{
    uint32_t bits = bits_of(x);
    return (bits & ~SIGN) > INFINITE ? bits | QUIET : rounded(bits, 16);
}

uint16_t half_bf16_of(float x)
{
    return (uint16_t)(bf16_bits(x) >> 16);
}

float half_bf16_value(uint16_t bf16)
{
    return float_of((uint32_t)bf16 << 16);
}

void half_bf16_pack(uint16_t *restrict bf16, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bf16[i] = (uint16_t)(bf16_bits(x[i]) >> 16);
}

void half_bf16_unpack(float *restrict x, const uint16_t *restrict bf16, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = float_of((uint32_t)bf16[i] << 16);
}

void half_bf16_round(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = float_of(bf16_bits(x[i]) & 0xffff0000);
}

/* Between 1/2 and 1 floats are 2^-24 apart, which is fp16's smallest number: the addition rounds to
 * a multiple of it. */
static inline uint32_t fp16_subnormal(uint32_t size)
{
    return bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
}

uint16_t half_fp16_of(float x)
{
    uint32_t sign = bits_of(x) >> 16 & 0x8000, size = bits_of(x) & ~SIGN, fp16;
    if (size > INFINITE)
        fp16 = 0x7e00 | (size >> 13 & 0x3ff);
    else if (size >= FP16_INFINITE)
        fp16 = 0x7c00;
    else if (size < FP16_NORMAL)
        fp16 = fp16_subnormal(size);
    else
        fp16 = rounded(size - REBIAS, 13) >> 13;
    return (uint16_t)(sign | fp16);
}

float half_fp16_value(uint16_t fp16)
{
    uint32_t sign = (uint32_t)(fp16 & 0x8000) << 16, size = fp16 & 0x7fff;
    uint32_t bits;
    if (size < 0x400)
        bits = bits_of((float)size * 0x1p-24f);
    else if (size >= 0x7c00)
        bits = INFINITE | (size & 0x3ff) << 13;
    else
        bits = (size << 13) + REBIAS;
    return float_of(sign | bits);
}

/* Without going through 16 bits: the loop becomes vector instructions. */
static inline uint32_t fp16_bits(uint32_t size)
{
    uint32_t normal = rounded(size, 13) & ~0x1fffu;
    uint32_t subnormal = bits_of(float_of(size) + 0.5f - 0.5f);
    uint32_t finite = size < FP16_NORMAL ? subnormal : normal;
    uint32_t any = size >= FP16_INFINITE ? INFINITE : finite;
    return size > INFINITE ? (size | QUIET) & ~0x1fffu : any;
}

void half_fp16_round(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(x[i]);
        x[i] = float_of((bits & SIGN) | fp16_bits(bits & ~SIGN));
    }
}
