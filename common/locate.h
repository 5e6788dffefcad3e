/*
 * locate: what a failed comparison most likely means.
 *
 * Not a verdict but the usual suspects, told apart by simple arithmetic over all elements that
 * differ. The first that explains every one of them is named:
 *
 *     not finite         a NaN or an Inf on either side
 *     the step before    found what was expected one step earlier: a stale bucket, not gathered
 *     last bits          another order of addition
 *     constant factor    N: summed, not averaged; 1/N: divided twice; another whole number
 *     zero               never written
 *     another's chunk    two chunks swapped, or one in place of another
 *     one shard          only one rank's range differs: an offset, or not gathered
 */
#ifndef COMMON_LOCATE_H
#define COMMON_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

struct locate {
    const float *found;    // (count)
    const float *expected; // (count)
    const float *before;   // (count): what was expected one step earlier, or NULL
    size_t count;
    size_t world; // ranks
    bool part;    // the arrays are one rank's part of a whole: chunks are not looked for in it
};

enum { LOCATE_TEXT_BYTES = 256 };

/* Writes one clause, such as "every value is 4 times the expected one: summed over 4 ranks, not
 * averaged". "no usual cause fits" when none does, "nothing differs" when no bit does. Elements
 * that are zero on both sides, of either sign, say nothing about a factor and do not disturb it. */
void locate_cause(const struct locate *locate, char text[LOCATE_TEXT_BYTES]);

#endif
