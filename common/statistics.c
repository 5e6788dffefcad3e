/* statistics: what a handful of measurements says. See the header. */
#include "common/statistics.h"

#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double statistics_quantile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, by_value);
    size_t index = (size_t)(share * (double)count);
    return values[index < count ? index : count - 1];
}

double statistics_median(double *values, size_t count)
{
    return statistics_quantile(values, count, 0.5);
}
