/*
 * locate: what a failed comparison most likely means.
 *
 * Not a verdict but the five usual suspects, told apart by simple arithmetic over all elements that
 * differ: a constant ratio of N (summed, not averaged), of 1/N (divided twice); equal to the step
 * before (a stale bucket); only one shard's range differs (an offset, or not gathered); last bits
 * only (another order of addition). A non-finite value is named as such.
 */
#ifndef COMMON_LOCATE_H
#define COMMON_LOCATE_H

#include <stddef.h>

struct locate {
    const float *found;    // (count)
    const float *expected; // (count)
    const float *before;   // (count): what was expected one step earlier, or NULL
    size_t count;
    size_t world; // ranks
};

enum { LOCATE_TEXT_BYTES = 256 };

/* Writes one clause, such as "every value is 4 times the expected one: summed over 4 ranks, not
 * averaged". "no usual cause fits" when none does. */
void locate_cause(const struct locate *locate, char text[LOCATE_TEXT_BYTES]);

#endif
