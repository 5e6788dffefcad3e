/*
 * inside: a lesson's run within a rank that a test has forked (ranks.h), so that the test can hold
 * its parts in the hand: gradient, buckets, shards.
 *
 *     static int body(struct ranks_self *self)
 *     {
 *         struct inside inside;
 *         int wrong = inside_open(&inside, self, 3, "--data synthetic --steps 4");
 *         ...
 *         inside_close(&inside);
 */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H

#include "lesson01_single/run.h"
#include "tests/ranks.h"

struct inside {
    struct run run;
    char words[1024]; // the run's options point into it
};

/* Opens it with these arguments, divided by single blanks, as the rank that self is. Not 0: self
 * has the sentence. */
int inside_open(struct inside *inside, struct ranks_self *self, int lesson, const char *arguments);
void inside_close(struct inside *inside);

/* Its first half, run_prepare, as if it were rank 0 of so many: what a plan is made from. Without a
 * communicator. */
int inside_prepare(struct inside *inside, int lesson, int world, const char *arguments);

/* Passes on a failure that the run has recorded. Returns error. */
int inside_told(struct ranks_self *self, const struct inside *inside, int error);

/* grad (count) = this rank's part of the step's gradient, with nobody listening. */
void inside_gradient(const struct run *run, const struct step *step, float *grad);

#endif
