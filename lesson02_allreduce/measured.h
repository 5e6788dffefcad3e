/*
 * measured: every algorithm's time by size, and the choice these times make.
 *
 * Twice measured, the same machine gives times some 15 % apart, and a table that flutters is no
 * knowledge. So the built-in choice stands wherever it is not clearly beaten: at a size, of all
 * algorithms that take at most a fourth longer than the fastest, it is the built-in one that is
 * chosen; else that of the size before; else the first. The choice changes half way between two
 * sizes, on the scale where sizes double.
 *
 *     bytes      ring   root   direct   built-in   chosen
 *      4096        40     19       20     direct   direct
 *     16384        50     30       49     direct     root
 *     65536        60     70      100     direct     root    so: up to 8192 direct, any root
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

/* Where it is not left, `builtin` keeps its own borders. */
struct choice measured_choice(const struct measured *measured, const struct choice *builtin);

/* Which was fastest, size by size, in one line; then a choice, that of measured_choice, in
 * another. */
void measured_print(const struct measured *measured, const struct choice *choice, FILE *out);

#endif
