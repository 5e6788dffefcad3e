/*
 * reduce: elements that were received, folded into elements of one's own.
 *
 *     own[i] = own[i] (+, min, max, *) received[i]
 *
 * Floats are rounded once per operation, as written. Whole numbers wrap around, as unsigned ones do.
 * Minimum and maximum keep `own` unless `received` is truly smaller or larger; a NaN in either makes
 * a NaN, so that no rank's bad number is lost; -0 and 0 are equal, and `own` is kept.
 */
#ifndef LESSON02_REDUCE_H
#define LESSON02_REDUCE_H

#include "lesson02_allreduce/comm.h"

/* Folds `count` elements at `received`, at any alignment, into own (count). They do not overlap. */
void reduce_into(void *own, const uint8_t *received, size_t count, enum comm_type type,
                 enum comm_reduction reduction);

#endif
