/*
 * explain_buckets: which gradients travel together, drawn before anything is computed or sent.
 *
 *     slab    | fc1.weight | fc1.bias | fc2.weight | fc2.bias |
 *     bucket  | 1            1        | 0            0        |
 *
 * and a table of the buckets in the order of sending, with the algorithm that reduces each, and the
 * messages it takes: those of steps.h for an all-reduce. Its halves, lesson 4's reduce-scatter and
 * all-gathers, take R (R - 1) each over R ranks.
 */
#ifndef LESSON03_EXPLAIN_BUCKETS_H
#define LESSON03_EXPLAIN_BUCKETS_H

#include "lesson02_allreduce/choice.h"
#include "lesson03_ddp/bucket.h"

#include <stdio.h>

struct explain_buckets {
    const struct model *model;
    size_t first_bytes, bytes; // the caps
    struct choice choice;      // of the algorithm, by size
    int world;
    bool halves;           // a reduce-scatter and an all-gather, with something between them
    const size_t *gathers; // all-gathers of each bucket in an update; NULL: one
};

/* One plan: the drawing, the table, the messages of an update. */
void explain_buckets(FILE *out, const struct explain_buckets *explain,
                     const struct bucket_plan *plan);

#endif
