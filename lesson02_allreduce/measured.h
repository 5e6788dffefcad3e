/*
 * measured: every algorithm's time by size, and the choice these times make.
 *
 * A choice changes hands only where another algorithm is at least 5 % faster than the one chosen
 * for the size before: less is noise, and a table that flutters is no knowledge. It changes half
 * way between two sizes, on the scale where sizes double.
 *
 *     bytes      ring   direct   chosen
 *      4096        40       20   direct
 *     16384        50       49   direct
 *     65536        90      100   ring      so: up to 32768 direct, any ring
 */
#ifndef LESSON02_MEASURED_H
#define LESSON02_MEASURED_H

#include "lesson02_allreduce/choice.h"

#include <stdio.h>

enum { MEASURED_SIZES_MOST = 8 };

struct measured {
    size_t count;                                        // of sizes; 1 at least
    size_t bytes[MEASURED_SIZES_MOST];                   // ascending
    double seconds[MEASURED_SIZES_MOST][ALGORITHM_AUTO]; // 0: not measured
};

/* The one with the least time at a size. */
enum algorithm measured_fastest(const struct measured *measured, size_t size);

struct choice measured_choice(const struct measured *measured);

/* Which was fastest, size by size, in one line; then the choice, in another. */
void measured_print(const struct measured *measured, FILE *out);

#endif
