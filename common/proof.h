/*
 * proof: what a lesson shows of its own correctness, a line per comparison.
 *
 *     verify step 0: gradient = lesson 1's shares in ring order | bit for bit, 4810 floats | ok
 *     verify step 0: gradient ~ lesson 1's whole batch | 4810 floats, largest difference 2.2e-08,
 *                    at most 3.1 % of its bound | ok                                  (one line)
 *
 * Whether two arrays are equal is decided in compare.h, and why they are not in locate.h; here it
 * is said and counted. Rank 0 says all; the others, and a quiet run, only what fails.
 */
#ifndef COMMON_PROOF_H
#define COMMON_PROOF_H

#include "common/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PROOF_KEPT_MOST = 16, PROOF_WHAT_BYTES = 112, PROOF_HOW_BYTES = 192 };

/* A comparison, printed or not. */
struct proof_line {
    size_t step;
    bool holds;
    char what[PROOF_WHAT_BYTES], how[PROOF_HOW_BYTES];
};

struct proof {
    FILE *out;
    int rank;
    bool failures_only;
    size_t lines;  // comparisons so far, printed or not
    size_t failed; // of them

    struct proof_line
        kept[PROOF_KEPT_MOST]; // the first since whoever records them set the count to 0
    size_t kept_count;
};

/* Where a comparison first fails. */
struct proof_place {
    const char *tensor; // "fc1.weight"
    size_t index;       // within the tensor
    int rank;           // whose value was found
    float found, expected;
    const char *cause; // the likely one, from locate_cause()
};

void proof_init(struct proof *proof, FILE *out, int rank, bool quiet);

/* One comparison each. `what` says both sides and their relation, "gradient = lesson 1's gradient";
 * by custom = where bits were compared, ~ where a bound was. True: it holds. */
bool proof_bits(struct proof *proof, size_t step, const char *what, const struct compare *compare);
bool proof_bounded(struct proof *proof, size_t step, const char *what,
                   const struct compare *compare);

/* A comparison made elsewhere, of hashes for instance; `how` says how exactly. */
bool proof_holds(struct proof *proof, size_t step, const char *what, const char *how, bool holds);

/* After one that failed: where, with both values, and the likely cause. Counts nothing. */
void proof_failure_at(struct proof *proof, const struct proof_place *place);

enum { PROOF_SUMMARY_BYTES = 80 };

/* "12 comparisons, all hold", "12 comparisons, 1 FAILED", "nothing was compared" */
void proof_summary(const struct proof *proof, char text[PROOF_SUMMARY_BYTES]);

#endif
