/*
 * steps: who sends what to whom in which step of an all-reduce, for every algorithm, as a list.
 *
 * A step is what may happen at once: its messages hold what their senders had when it began. A
 * receiver adds what it hears, or stores it. Over 4 ranks (whole: the vector, c0: chunk 0):
 *
 *     root      1, 2, 3 -> 0 whole, add                  0 -> 1, 2, 3 whole
 *     tree      1 -> 0, 3 -> 2 whole, add; 2 -> 0, add   0 -> 2; 0 -> 1, 2 -> 3
 *     halving   0 <-> 1, 2 <-> 3 half, add;              0 <-> 2, 1 <-> 3 quarter;
 *               0 <-> 2, 1 <-> 3 quarter, add            0 <-> 1, 2 <-> 3 half
 *     direct    every r -> every q, chunk q, add         every q -> every r, chunk q
 *     ring      every r -> r + 1, chunk r - 1 - k, add   the same, stored, from step R - 1 on
 *
 * Halving with R ranks beyond a power of two P: of the first 2 (R - P) ranks each even one first
 * gives its vector to the next, which stands in for both, and hears the result in the end.
 */
#ifndef LESSON02_STEPS_H
#define LESSON02_STEPS_H

#include "common/slice.h"
#include "lesson02_allreduce/algorithm.h"

#include <stdbool.h>

struct transfer {
    int step, from, to;
    struct slice part; // of the vector; may be empty
    bool adds;         // else it is stored
};

/* Writes the first `most` transfers of an all-reduce of `count` floats, in order of steps. Returns
 * how many there are; 0 for a world of 1 and for auto, which is no algorithm itself. */
size_t steps_of(enum algorithm algorithm, int world, size_t count, struct transfer *transfers,
                size_t most);

/* How many floats one rank sends in all of them. */
size_t steps_sent(enum algorithm algorithm, int world, size_t count, int rank);

#endif
