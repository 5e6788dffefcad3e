/*
 * decimal: a decimal number, read the same in every locale.
 *
 * strtod reads "0,5" or "0.5" by the program's locale, and takes "nan", "inf" and "0x1p3" as well.
 * A file means one thing wherever it is read: a point, decimal digits, and nothing else.
 */
#ifndef COMMON_DECIMAL_H
#define COMMON_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* All of text[0..length) must be one number: an optional sign, digits with at most one point among
 * or around them, an optional exponent. False for anything else, for what no double can hold, and
 * for more than 200 characters. The value is the double nearest to the number. */
bool decimal_read(const char *text, size_t length, double *value);

#endif
