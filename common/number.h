/*
 * number: a text that is a number from its first byte to its last, or is refused.
 *
 * strtod() and strtoull() are lenient: they skip spaces, stop at rubbish, read hexadecimal, "nan"
 * and "-1" as a huge number, and strtod() wants a comma where the locale says so. Here a text is
 * checked against the grammar first, and the point is a point in every locale.
 */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only, at most 64 bits. False: not that, and *value is unchanged. */
bool number_whole(const char *text, uint64_t *value);

/* [+-] digits [. digits] [e [+-] digits], finite. False: not that, and *value is unchanged. */
bool number_real(const char *text, double *value);

#endif
