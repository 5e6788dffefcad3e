/* sum: adds elements that came as bytes to elements in memory: the arithmetic of every
 * reduction. */
#ifndef LESSON02_SUM_H
#define LESSON02_SUM_H

#include "lesson02_allreduce/comm.h"

#include <stddef.h>
#include <stdint.h>

/* own[i] += received[i]. `received` may have any alignment: a stream may be cut anywhere. `own` has
 * its type's. The two do not overlap. Integers wrap. */
void sum_add(void *own, const uint8_t *received, size_t count, enum comm_type type);

#endif
