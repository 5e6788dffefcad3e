/* precision: what training in 16 bits does to the numbers. See the header. */
#include "lesson01_single/precision.h"
#include "common/half.h"

#include <stdbool.h>

static void round_to(enum precision_kind kind, float *x, size_t count)
{
    if (kind == PRECISION_BF16)
        half_bf16_round(x, count);
    else
        half_fp16_round(x, count);
}

static bool is_float(const struct precision *precision)
{
    return !precision || precision->kind == PRECISION_FP32;
}

void precision_round(const struct precision *precision, float *x, size_t count)
{
    if (!is_float(precision))
        round_to(precision->kind, x, count);
}

static size_t count_nonzero(const float *x, size_t count)
{
    size_t nonzero = 0;
    for (size_t i = 0; i < count; i++)
        nonzero += x[i] != 0;
    return nonzero;
}

void precision_round_gradient(struct precision *precision, float *dy, size_t count)
{
    if (is_float(precision))
        return;
    size_t before = count_nonzero(dy, count);
    round_to(precision->kind, dy, count);
    precision->nonzero += before;
    precision->flushed += before - count_nonzero(dy, count);
}

double precision_unit(enum precision_kind kind)
{
    static const double units[] = {0, HALF_BF16_UNIT, HALF_FP16_UNIT};
    return units[kind];
}

double precision_least(enum precision_kind kind)
{
    static const double least[] = {0, HALF_BF16_SMALLEST / 2, HALF_FP16_SMALLEST / 2};
    return least[kind];
}
