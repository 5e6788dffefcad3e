/*
 * compare: two equalities over two arrays. See the header.
 *
 * Bit for bit means the bits: -0.0 and +0.0 differ, although C's == calls them equal. They come
 * from different additions (-0.0 is what (-0.0) + (-0.0) gives, and never x + -x), and telling
 * orders of addition apart is what this equality is for. Within a bound they are equal: the
 * distance is 0.
 *
 * Every test is written so that a NaN takes the failing branch: !(distance <= bound), never
 * distance > bound.
 */
#include "common/compare.h"

#include <math.h>
#include <string.h>

/* 0 for equal values; Inf as soon as one is not finite, so that the largest shows it. */
static double distance(float left, float right)
{
    if (!isfinite(left) || !isfinite(right))
        return INFINITY;
    return fabs((double)left - (double)right);
}

static bool same_bits(float left, float right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}

static void record(struct compare *compare, float left, float right, bool equal)
{
    if (!equal && compare->different++ == 0) {
        compare->first = compare->count;
        compare->left = left;
        compare->right = right;
    }
    compare->count++;
}

void compare_bits(struct compare *compare, const float *left, const float *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double apart = distance(left[i], right[i]);
        compare->largest = fmax(compare->largest, apart);
        record(compare, left[i], right[i], isfinite(apart) && same_bits(left[i], right[i]));
    }
}

/* How much of the bound is used up: at most 1 where the element is equal. */
static double share_of(double apart, double bound)
{
    if (!isfinite(bound) || bound < 0)
        return INFINITY; // such a bound would prove nothing
    if (apart == 0)
        return 0; // also when the bound is 0
    return apart / bound;
}

void compare_bounded(struct compare *compare, const float *left, const float *right,
                     const double *bound, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double apart = distance(left[i], right[i]);
        double share = share_of(apart, bound[i]);
        compare->largest = fmax(compare->largest, apart);
        compare->largest_share = fmax(compare->largest_share, share);
        record(compare, left[i], right[i], isfinite(share) && apart <= bound[i]);
    }
}

bool compare_equal(const struct compare *compare)
{
    return compare->different == 0;
}

/* --- hash ------------------------------------------------------------------------------------ */

enum { LANES = 8 };

/* FNV-1a's constants for 64 bits: Fowler, Noll, Vo, draft-eastlake-fnv, section 5. */
static const uint64_t fnv_offset = 0xcbf29ce484222325, fnv_prime = 0x00000100000001b3;

/* The shift is not FNV's. A product passes differences only upwards, so a flipped top bit (the
 * sign of every other float) would stay the top bit, and a second one would undo it: an array and
 * its negative would hash alike. */
static uint64_t absorb(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * fnv_prime;
    return hash ^ (hash >> 32);
}

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* A product waits for the one before. So of a long array every eighth word is absorbed by a hash of its
 * own, eight products at a time, and in the end the eight are absorbed by one. */
uint64_t compare_hash(const void *bytes, size_t size_bytes)
{
    const unsigned char *at = bytes;
    uint64_t hash = absorb(fnv_offset, size_bytes); // [0] and [0, 0] differ by their length only
    uint64_t lane[LANES] = {0, 1, 2, 3, 4, 5, 6, 7}, last = 0;
    size_t in_lanes = size_bytes / (8 * LANES) * (8 * LANES), whole = size_bytes / 8 * 8;
    for (size_t i = 0; i < in_lanes; i += 8 * LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] = absorb(lane[j], word_at(at + i + 8 * j));
    for (size_t j = 0; j < LANES && in_lanes > 0; j++)
        hash = absorb(hash, lane[j]);
    for (size_t i = in_lanes; i < whole; i += 8)
        hash = absorb(hash, word_at(at + i));
    if (size_bytes > whole)
        memcpy(&last, at + whole, size_bytes - whole);
    return absorb(absorb(hash, last), 0);
}
