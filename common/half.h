/*
 * half: floats of 16 bits, and the way there and back.
 *
 *               sign  exponent  fraction    largest       smallest normal   smallest
 *     float      1       8         23       3.4e38        1.2e-38           1.4e-45
 *     bf16       1       8          7       3.4e38        1.2e-38           9.2e-41
 *     fp16       1       5         10       65504         6.1e-5            6.0e-8
 *
 * bf16 is the upper half of a float: its range, and 8 significant bits. fp16 (IEEE 754-2019,
 * binary16) has 11, and little range. Rounding is to the nearest, a tie to the even one: what is
 * lost is at most u |x|, u = 2^-8 or 2^-11; among the subnormals at most half the smallest. What is
 * too large becomes infinite. A NaN stays one, and quiet.
 */
#ifndef COMMON_HALF_H
#define COMMON_HALF_H

#include <stddef.h>
#include <stdint.h>

static const double HALF_BF16_UNIT = 0x1p-8, HALF_BF16_SMALLEST = 0x1p-133;
static const double HALF_FP16_UNIT = 0x1p-11, HALF_FP16_SMALLEST = 0x1p-24;

uint16_t half_bf16_of(float x);
float half_bf16_value(uint16_t bf16); // exact
uint16_t half_fp16_of(float x);
float half_fp16_value(uint16_t fp16); // exact

/* The same for arrays, which do not overlap. */
void half_bf16_pack(uint16_t *bf16, const float *x, size_t count);
void half_bf16_unpack(float *x, const uint16_t *bf16, size_t count);

/* x (count) rounded in place: floats that the type holds. Exactly pack, then unpack. */
void half_bf16_round(float *x, size_t count);
void half_fp16_round(float *x, size_t count);

#endif
