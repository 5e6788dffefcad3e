/*
 * whole: a whole number from its first byte to its last, or nothing.
 *
 * strtoull skips blanks, stops at rubbish, and reads "-1" as 18446744073709551615. A flag that
 * counts means digits and nothing else. (Numbers with a point: decimal.h.)
 */
#ifndef COMMON_WHOLE_H
#define COMMON_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only, at most 64 bits. False: not that, and *value is unchanged. */
bool whole_read(const char *text, uint64_t *value);

#endif
