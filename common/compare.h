/*
 * compare: are two arrays the same, and if not, where and how do they first differ?
 *
 * Two equalities, never mixed. Bit for bit: where the additions were made in the same order.
 * Within a bound: where they were not, each element having its own bound. A NaN or an Inf is never
 * equal to anything, itself included: a comparison that meets one fails.
 */
#ifndef COMMON_COMPARE_H
#define COMMON_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compare {
    size_t count;         // elements compared so far
    size_t different;     // elements that failed
    size_t first;         // index of the first that failed (of all compared), when different > 0
    float left, right;    // its two values
    double largest;       // the largest |left - right| met (0 when all bits are equal)
    double largest_share; // the largest |left - right| / bound met; bit for bit: unused
};

/* Adds `count` elements to the comparison; several calls compare one long array piece by piece.
 * `compare` starts zeroed. */
void compare_bits(struct compare *compare, const float *left, const float *right, size_t count);
void compare_bounded(struct compare *compare, const float *left, const float *right,
                     const double *bound, size_t count);

bool compare_equal(const struct compare *compare); // nothing failed

/* 64 bits that are equal where all bits of the array are (FNV-1a over 8-byte words, mixed). */
uint64_t compare_hash(const void *bytes, size_t size_bytes);

#endif
