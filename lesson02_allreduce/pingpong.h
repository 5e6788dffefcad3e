/*
 * pingpong: the cost of one message, measured on the communicator's own links.
 *
 *     rank 0   n bytes -->            --> n bytes
 *     rank 1             --> n bytes                 half of what this takes is one way
 *
 * The others open and close the same calls, and wait for the end of each size.
 */
#ifndef LESSON02_PINGPONG_H
#define LESSON02_PINGPONG_H

#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/costmodel.h"

enum { PINGPONG_SIZES = 9 };

/* Every rank of a world of at least 2 calls it. On rank 0, samples are the medians of one-way
 * times from 4 B to 4 MiB; the others' are left alone. 0, or an error that fail tells. */
int pingpong(struct comm *comm, struct cost_sample samples[PINGPONG_SIZES], struct fail *fail);

/* Seconds per byte to add floats that are in the cache to others that are: gamma. */
double pingpong_gamma(void);

#endif
