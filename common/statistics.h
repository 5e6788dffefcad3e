/* statistics: what a handful of measurements says. */
#ifndef COMMON_STATISTICS_H
#define COMMON_STATISTICS_H

#include <stddef.h>

/* The value below which a share of the sorted values lies, 0 to 1. Sorts in place; count at least
 * 1. */
double statistics_quantile(double *values, size_t count, double share);

/* statistics_quantile at one half. */
double statistics_median(double *values, size_t count);

#endif
