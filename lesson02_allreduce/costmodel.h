/*
 * costmodel: how long an all-reduce should take, from three numbers and an algorithm's shape.
 *
 * A message of n bytes takes alpha + n beta seconds, adding n bytes to others n gamma (Hockney's
 * model). For a vector of n bytes over R ranks, with L = ceil(log2 R), P the largest power of two
 * up to R, and f = 1 where P < R, else 0, the longest chain of things that wait for each other is:
 *
 *                     alpha times    beta times                 gamma times           source
 *     root            2              2 n (R - 1)                n (R - 1)             -
 *     tree            2 L            2 n L                      n L                   [1]
 *     halving         2 log2 P + 2f  2 n (P - 1)/P + 2 n f      n (P - 1)/P + n f     [2]
 *     direct          2              2 n (R - 1)/R              n (R - 1)/R           [2]
 *       short vectors 1              n (R - 1)                  n (R - 1)             -
 *     ring            2 (R - 1)      2 n (R - 1)/R              n (R - 1)/R           [1], [3]
 *
 * [1] Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and
 *     experience", CCPE 19 (2007). [2] Thakur, Rabenseifner, Gropp, "Optimization of collective
 *     communication operations in MPICH", IJHPCA 19 (2005). [3] Patarasuk, Yuan, "Bandwidth optimal
 *     all-reduce algorithms for clusters of workstations", JPDC 69 (2009). No algorithm sends fewer
 *     bytes per rank than 2 n (R - 1)/R [3]. Root's and direct's messages of one step wait for
 *     nobody, so their latencies overlap; their bytes pass through one rank's link one by one.
 *
 * Sharing. On one host a byte is moved by a core. If the ranks send B bytes in all, b of them in
 * the longest chain, then B/b ranks are at work at a time, and C cores need max(1, B/b/C) times the
 * chain's time, or more (Brent, "The parallel evaluation of general arithmetic expressions", JACM
 * 21 (1974)). For ring, direct and (R = P) halving B/b is R: with more ranks than cores everything
 * takes R/C times as long. Of root it is 1: one rank works, the others wait.
 *
 * What is left out is printed beside every table: costmodel_print_omissions.
 */
#ifndef LESSON02_COSTMODEL_H
#define LESSON02_COSTMODEL_H

#include "lesson02_allreduce/algorithm.h"

#include <stddef.h>
#include <stdio.h>

struct cost_link {
    double alpha_seconds; // per message
    double beta_seconds;  // per byte sent
    double gamma_seconds; // per byte added
    int cores;            // that all ranks share; 0: as many as there are ranks
};

/* A row of the table above, and what all ranks send together. */
struct cost_terms {
    double messages, bytes, reduced_bytes; // one after another
    double total_bytes;                    // sent by all ranks
};

/* One ping-pong: a message of this size, one way. */
struct cost_sample {
    size_t bytes;
    double seconds;
};

/* Sizes from which, in one world, the model prefers one algorithm. */
struct cost_range {
    size_t from_bytes;
    enum algorithm algorithm;
};

/* The sizes looked at by whoever searches them. */
static const size_t COST_LEAST_BYTES = 4, COST_MOST_BYTES = (size_t)4 << 30;

enum { COST_RANGES_MOST = 32 };

/* alpha and beta, neither negative, of the line with the least relative error, the sum over samples
 * of ((alpha + beta n - t) / t)^2. Gamma and cores stay. -EINVAL: a time is not above 0, or the
 * samples are not of two sizes at least. */
int costmodel_fit(struct cost_link *link, const struct cost_sample *samples, size_t count);

/* World at least 1, any algorithm but auto. */
struct cost_terms costmodel_terms(enum algorithm algorithm, int world, size_t bytes);

/* max(1, B/b/C): how many times longer the longest chain takes for want of cores. */
double costmodel_sharing(const struct cost_link *link, const struct cost_terms *terms);

/* Seconds of one all-reduce; of auto, those of the best. World 1: 0. */
double costmodel_predict(const struct cost_link *link, enum algorithm algorithm, int world,
                         size_t bytes);

/* The one with the least predicted time; the first in the enum's order where several have it. */
enum algorithm costmodel_best(const struct cost_link *link, int world, size_t bytes);

/* The size from which b takes less time than a: found by bisection, so one of them where the lead
 * changes more than once. COST_LEAST_BYTES: b leads at once. 0: b does not lead at
 * COST_MOST_BYTES. */
size_t costmodel_crossover(const struct cost_link *link, enum algorithm a, enum algorithm b,
                           int world);

/* The best algorithm for all sizes, as ranges in order; the first begins at COST_LEAST_BYTES.
 * Returns how many. A lead that lasts for less than a doubling of size may be passed over. */
size_t costmodel_ranges(const struct cost_link *link, int world,
                        struct cost_range ranges[COST_RANGES_MOST]);

/* "up to 12.0 KiB: direct; from there: ring" */
void costmodel_print_ranges(FILE *out, const struct cost_link *link, int world);

/* What no figure of this model knows of. */
void costmodel_print_omissions(FILE *out);

#endif
