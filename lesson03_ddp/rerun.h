/*
 * rerun: this rank's gradient once more, after backward and with nobody listening, and the room to hold
 * the one that was sent in buckets against it. What both proofs of lesson 3 begin with.
 */
#ifndef LESSON03_RERUN_H
#define LESSON03_RERUN_H

#include "lesson01_single/prove.h"
#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

struct rerun {
    struct trainer trainer; // all activations kept: what is computed again is held against it
    float *mine;            // (count): this rank's gradient, then reduced bucket by bucket
    float *whole;           // (count): what is reduced at once
    float *sizes;           // (count): and its absolute values
    float *before;          // (count): mine, one step earlier
    double *bound;          // (count)
    struct memory *memory;
    size_t steps; // proved so far
};

/* `of`: whose gradient it is. 0, or -ENOMEM that run->fail tells. Release accepts a zeroed or half-built struct. */
int rerun_init(struct rerun *rerun, struct run *run, const struct trainer *of);
void rerun_release(struct rerun *rerun);

/* mine = this rank's gradient of the step; whole = mine + kept (count, or NULL); sizes = |whole|. */
void rerun_gradient(struct rerun *rerun, const struct step *step, const float *kept);

/* whole and sizes, summed over all ranks. 0 or the communicator's error. */
int rerun_sum(struct rerun *rerun, struct comm *comm);

/* `found` (count) against mine, bit for bit; says `what`. Another pair that is part of the line, or
 * NULL. */
void rerun_prove_mine(struct rerun *rerun, struct run *run, const struct step *step,
                      const float *found, const struct prove_pair *other, const char *what);

/* `found` against whole: within bound, or bit for bit. */
void rerun_prove_whole(const struct rerun *rerun, struct run *run, const struct step *step,
                       const float *found, bool exact, const char *what);

#endif
