/*
 * oracle: the right answers, from nothing a student has written: not from slice_of, nor from a replay
 * that is cut by it.
 */
#ifndef TESTS_GRADE_ORACLE_H
#define TESTS_GRADE_ORACLE_H

#include "common/slice.h"
#include "tests/grade/grade.h"

/* Part `index` of `parts`, counted around: -1 is the last. Sizes differ by one at most, the longer first. */
struct slice oracle_slice(size_t count, int parts, int index);

/* Element i of rank's vector, and all (count) of it. It repeats nowhere, and its sums are not exact: they
 * show the order in which they were added. */
float oracle_share(const struct grade *grade, int rank, size_t i);
void oracle_fill(const struct grade *grade, int rank, float *in, size_t count);

/* Element i of the sum over all ranks, added in the ring's order: that of chunk c begins at rank c + 1. */
float oracle_ring_sum(const struct grade *grade, int world, size_t count, size_t i);

#endif
