/*
 * planted: real runs with a mistake of --inject in them, and what they leave behind.
 *
 * Networks are those of --hidden 9 on the digits, or, by hand, y = w x without a bias, from w = 0.5.
 */
#ifndef TESTS_PLANTED_H
#define TESTS_PLANTED_H

#include "tests/lessons.h"

#include <stdbool.h>

enum { PLANTED_LINE_BYTES = 1024, PLANTED_STEPS_MOST = 64 };
enum { FC1 = 576, B1 = 9, FC2 = 90, B2 = 10, COUNT = FC1 + B1 + FC2 + B2 }; // --hidden 9 on digits

/* Where a mistake is made: those that need whole gradients, in the first three places. */
struct place {
    int lesson;
    const char *stage;
};
enum { PLACES = 5, WHOLE_GRADIENTS = 3, LESSON_3 = 1, STAGE_1 = 2 };

extern const struct place places[PLACES];

/* Nothing is learnt from 3 updates an epoch. */
extern const char STANDSTILL[];
enum { UPDATES = 3 };

/* Samples of x.csv, for a network of one weight. */
extern const char BY_HAND[];

/* A run in that place, unverified; it must end well. */
void planted_run(const struct folder *folder, int place, int world, const char *flags,
                 const char *more);

/* All parameters after an update, as a rank dumped them. */
void planted_dump(const struct folder *folder, const char *dump, int rank, size_t step,
                  float param[COUNT]);

/* The first `count` values of a key in m.rank-R.jsonl. */
void planted_metrics(const struct folder *folder, int rank, const char *key, double *values,
                     size_t count);

/* Fails the test unless they are equal but for rounding. */
void planted_near(double found, double expected, const char *what);

/* By value: a bias of 0 becomes 0 or -0 at a rate of 0. */
bool planted_equal(const float *a, const float *b, size_t count);

#endif
