/*
 * profile: where a step's microseconds go.
 *
 *     profile_step      a step begins: the clock is read
 *     profile_lap       what was done since the last look at the clock was of this kind
 *     profile_end       the step is over: it counts, or it does not
 *
 * A look at the clock ends one lap and begins the next, so no microsecond is counted twice or left
 * out: the kinds' sum is the step. Looking has a cost of its own, which is measured and said.
 *
 * A NULL profile is off: every call returns at once.
 */
#ifndef COMMON_PROFILE_H
#define COMMON_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum profile_cost {
    PROFILE_GEMM,        // matrix products
    PROFILE_ELEMENTWISE, // biases, ReLUs, zeroing the gradient: whatever touches each float once
    PROFILE_LOSS,        // softmax, cross-entropy, their gradient
    PROFILE_DATA,        // order and copying of samples
    PROFILE_OPTIMIZER,
    PROFILE_HAND_OVER, // buckets to the communication thread
    PROFILE_WAIT,      // for gradients or parameters: communication that nothing hides
    PROFILE_SHARE,     // the loss of all ranks, which is waiting as well
    PROFILE_OTHER,     // norm, schedule, progress, and what is between
    PROFILE_COSTS,
};

struct profile {
    double latest_seconds;         // when the clock was looked at last
    double step[PROFILE_COSTS];    // seconds of the step at hand
    double seconds[PROFILE_COSTS]; // of all steps that count
    size_t steps;                  // that count
    size_t step_laps, laps;        // looks at the clock, likewise
};

void profile_step(struct profile *profile);
void profile_lap(struct profile *profile, enum profile_cost cost);
void profile_end(struct profile *profile, bool counts);

/* What one lap costs on this machine, in seconds. */
double profile_lap_seconds(void);

/* What is said of several ranks; each number is microseconds of a mean step. */
struct profile_table {
    double mine[PROFILE_COSTS];  // of the rank that prints
    double least[PROFILE_COSTS]; // of all ranks
    double most[PROFILE_COSTS];
    size_t steps, laps; // of the rank that prints: laps of a step
    double lap_seconds;
    int world;
};

/* Prints a row for each kind and their sum. */
void profile_print(const struct profile_table *table, FILE *out);

#endif
