/*
 * advice: one process, DDP or ZeRO? What each choice needs of a rank and sends, before anything is
 * taken, and the simplest that fits.
 *
 * The choices, the simplest first:
 *
 *     one process     lesson 1. Everything once; nothing is sent.
 *     accumulation    the same samples in K smaller micro-batches: fewer activations at a time
 *     recomputation   every K-th activation is kept, the others are computed again: time for memory
 *     DDP             n times as fast at best. Every rank keeps what one process would, but for its
 *                     share of the batch: it is a choice for speed, not for memory
 *     ZeRO 1, ...     shards what DDP keeps n times, each stage more of it
 *     offload         the optimizer's state in a file: every update reads and writes all of it
 *
 * With more memory for a rank than one process takes, there is no need for ZeRO.
 */
#ifndef LESSON04_ADVICE_H
#define LESSON04_ADVICE_H

#include "lesson02_allreduce/choice.h"
#include "lesson04_zero/memory_plan.h"

#include <stdbool.h>
#include <stdio.h>

enum { ADVICE_NAME_BYTES = 64, ADVICE_MOST = 12 };

struct advice_choice {
    char name[ADVICE_NAME_BYTES];  // "DDP on 4 ranks"
    char flags[ADVICE_NAME_BYTES]; // what to start it with
    struct memory_plan plan;       // of the rank that keeps most
    size_t total_bytes;            // of it; or what reading the data took, if that is more
    size_t sent_bytes;             // for an update, by the rank that sends most
    size_t limit_bytes;            // SIZE_MAX: none is known
    bool fits;
};

struct advice {
    const struct run *run;
    int world;
    struct choice algorithms;
    struct advice_choice choices[ADVICE_MOST];
    size_t count;
};

/* For a run that is prepared, over `world` ranks; each may have limit_bytes, or, if that is 0, its part
 * of this machine. */
void advice_make(struct advice *advice, const struct run *run, int world, size_t limit_bytes);

/* The first that fits, or NULL. */
const struct advice_choice *advice_simplest(const struct advice *advice);

/* Of those with a stage of ZeRO or DDP the first that fits, or NULL. */
const struct advice_choice *advice_simplest_ranks(const struct advice *advice);

/* On how many ranks, in powers of two, the highest stage would fit; 0: on no number of them. */
int advice_enough_ranks(const struct advice *advice);

/* The table, and one sentence or two. */
void advice_print(const struct advice *advice, FILE *out);

/* --plan: all of it. 0, or an error that run->fail tells. */
int advice_asked(struct run *run);

/* --memory-limit: 0 where this run keeps to it. Else, before anything is taken but the data, the table
 * from rank 0 and an error for the command line. */
int advice_check_limit(struct run *run);

#endif
