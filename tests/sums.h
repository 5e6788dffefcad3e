/*
 * sums: vectors that differ from rank to rank, with fractions and magnitudes that show the order
 * in which they were added up; and what an algorithm must make of them, bit for bit.
 */
#ifndef TESTS_SUMS_H
#define TESTS_SUMS_H

#include "lesson02_allreduce/comm.h"

#include <stddef.h>

/* Rank `rank`'s vector. free is due. */
float *sums_share(int rank, size_t count);

/* All ranks' vectors, added up by the algorithm's replay. free is due. */
float *sums_replay(enum algorithm algorithm, int world, size_t count);

/* An all-reduce of this rank's share, compared with the replay. 0; 1 when an element differs, and
 * *where is which; or the communicator's negative error. */
int sums_allreduce(struct comm *comm, enum algorithm algorithm, size_t count, size_t *where);

#endif
