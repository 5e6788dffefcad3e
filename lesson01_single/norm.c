/* norm: the length of a gradient, with bits that do not depend on how it was cut. See the
 * header. */
#include "lesson01_single/norm.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { FRACTION_BITS = 53 };

/* Bits of a float, sign removed, order it as an integer: Inf above all numbers, NaN above Inf. The
 * largest of integers is a loop that vectorises. */
float norm_largest(const float *x, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    float result;
    memcpy(&result, &largest, sizeof result);
    return result;
}

/* 1.5 * 2^e, so that adding up to 2^(e-1) to it leaves the exponent, and so the grid, as it is. */
static double grid_for(double most)
{
    return ldexp(1.5, ilogb(most) + 2);
}

struct norm norm_grid(float largest, size_t count)
{
    struct norm norm = {{0, 0}, {0, 0}};
    double most = (double)largest * (double)largest * (double)count;
    if (!isfinite(most))
        norm.sum[0] = most; // stays non-finite, whatever is added
    if (!isfinite(most) || most == 0)
        return norm;
    norm.grid[0] = grid_for(most);
    norm.grid[1] = grid_for(ldexp(norm.grid[0], -FRACTION_BITS) * (double)count);
    return norm;
}

void norm_add(struct norm *norm, const float *x, size_t count)
{
    double coarse = norm->grid[0], fine = norm->grid[1], sum_coarse = 0, sum_fine = 0;
    for (size_t i = 0; i < count; i++) {
        double square = (double)x[i] * (double)x[i]; // exact: 24 bits times 24 bits
        double on = (square + coarse) - coarse;
        sum_coarse += on;
        sum_fine += ((square - on) + fine) - fine;
    }
    norm->sum[0] += sum_coarse;
    norm->sum[1] += sum_fine;
}

double norm_value(const struct norm *norm)
{
    return sqrt(norm->sum[0] + norm->sum[1]);
}

double norm_of(const float *x, size_t count)
{
    struct norm norm = norm_grid(norm_largest(x, count), count);
    norm_add(&norm, x, count);
    return norm_value(&norm);
}

float norm_clip(double norm, double most)
{
    static const double AGAINST_ZERO = 1e-6; // as in torch.nn.utils.clip_grad_norm_
    double scale = most / (norm + AGAINST_ZERO);
    return most > 0 && scale < 1 ? (float)scale : 1;
}
