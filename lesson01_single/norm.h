/*
 * norm: the length of a gradient, with bits that do not depend on how it was cut.
 *
 * In floating point (a + b) + c is not a + (b + c), so a norm summed shard by shard would differ in
 * its last bits from one summed at once. Here every square is first rounded to a grid so coarse
 * that sums of grid points are exact; exact sums may be taken in any order and in any parts:
 *
 *     grid = 1.5 * 2^e with 2^(e-1) >= count * largest^2      on = (x^2 + grid) - grid
 *
 * What the rounding left over is summed on a second, finer grid in the same way. Before norm_value
 * rounds it, the sum's relative error is below 2^-100 count^3. Demmel and Nguyen, "Fast
 * Reproducible Floating-Point Summation", ARITH 2013, sections III and IV (their K-fold algorithm
 * with K = 2).
 *
 *     norm_largest over every part -> the largest of all -> norm_grid
 *     norm_add over every part -> the parts' sums, added -> norm_value
 */
#ifndef LESSON01_NORM_H
#define LESSON01_NORM_H

#include <stddef.h>

struct norm {
    double grid[2];
    double sum[2]; // sums of squares on either grid
};

/* The largest |x[i]|, 0 for no elements. NaN when one element is NaN. */
float norm_largest(const float *x, size_t count);

/* For a vector of `count` elements in all, none larger than `largest`. Sums start at 0. */
struct norm norm_grid(float largest, size_t count);

/* Adds the squares of a part. */
void norm_add(struct norm *norm, const float *x, size_t count);

/* The square root of all that was added. NaN or Inf when `largest` was. */
double norm_value(const struct norm *norm);

/* All of it, for a vector in one piece. */
double norm_of(const float *x, size_t count);

/* What a gradient of this norm is multiplied by so that it is no longer than `most`; 1 when it is
 * short enough already or most is 0 (no clipping). Pascanu et al., ICML 2013, algorithm 1. */
float norm_clip(double norm, double most);

#endif
