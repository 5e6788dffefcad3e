/*
 * slice: a run of neighbouring elements, and the one way this course cuts a vector into parts.
 *
 * A rank's samples of a batch, a ring's chunks, ZeRO's shards: all are slice_of(). Parts tile the
 * vector in order, and their sizes differ by at most one, the longer ones first:
 *
 *     slice_of(10, 4, i)    | 0 1 2 | 3 4 5 | 6 7 | 8 9 |
 *
 * With more parts than elements, the last parts are empty; an empty part is a part like any other.
 */
#ifndef COMMON_SLICE_H
#define COMMON_SLICE_H

#include <stddef.h>

struct slice {
    size_t begin; // first element
    size_t count; // elements, may be 0
};

/* Part `index` of `parts` (at least 1, index < parts). Exact for every count a size_t can hold. */
struct slice slice_of(size_t count, size_t parts, size_t index);

/* What two slices share; count 0 where they do not meet. */
struct slice slice_overlap(struct slice a, struct slice b);

#endif
