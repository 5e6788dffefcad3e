/*
 * explain: an all-reduce drawn round by round, for any world, before anything is sent.
 *
 * What is drawn is not typed in: the rounds are played through with ring.c's rule for who sends
 * which chunk, and each cell shows what a rank then holds. g0 is rank 0's part of a chunk; g2+g0
 * the sum in that order; g2..g0 the parts of ranks 2, 3, ... around the ring up to rank 0.
 */
#ifndef LESSON02_EXPLAIN_H
#define LESSON02_EXPLAIN_H

#include "lesson02_allreduce/algorithm.h"

#include <stddef.h>
#include <stdio.h>

/* The largest world that is drawn whole; of larger ones the first two and the last are shown. */
enum { EXPLAIN_WHOLE_MOST = 8 };

/* The ring's all-reduce of `count` floats: the chunks, a row per round with a column per rank, and
 * the bytes each rank sends. 0, -EINVAL (a world below 1) or -ENOMEM. */
int explain_ring(FILE *out, int world, size_t count);

/* The ring as above, the others step by step: who sends which floats to whom, and whether they are
 * added. Of a world that is not drawn whole, each step shows its first messages. -EINVAL for auto,
 * too: it is no algorithm itself. */
int explain_algorithm(FILE *out, enum algorithm algorithm, int world, size_t count);

#endif
