/*
 * prove: one comparison of a run, made piece by piece, told in one line, located when it fails.
 *
 *     struct prove prove = {0};
 *     prove_pair(&prove, &pair);      as often as there are pieces
 *     prove_end(&prove, run, step, "gradient after the ring = ...");
 *
 * A failure names step, tensor, index, rank, both values, and the likely cause.
 */
#ifndef LESSON01_PROVE_H
#define LESSON01_PROVE_H

#include "common/compare.h"
#include "lesson01_single/run.h"

/* Two arrays that should be equal, and the part of the slab they stand for. */
struct prove_pair {
    struct slice slice;    // of the slab
    const float *found;    // (slice.count)
    const float *expected; // (slice.count)
    const float *before;   // (slice.count): expected one step earlier, or NULL
    const double *bound;   // (slice.count): how far they may differ; NULL: not one bit
};

struct prove {
    struct compare compare;
    bool bounded;             // some pair had a bound
    struct prove_pair failed; // the first pair that failed
    size_t first;             // and where in it
};

void prove_pair(struct prove *prove, const struct prove_pair *pair);

/* Prints the line. True: equal. */
bool prove_end(const struct prove *prove, struct run *run, const struct step *step,
               const char *what);

#endif
