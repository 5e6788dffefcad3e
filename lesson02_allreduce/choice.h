/*
 * choice: which algorithm for which size.
 *
 *     up to 16384 bytes   direct
 *     any                 ring
 *
 * `--algorithm ring` is a choice of one row. `auto` is the built-in table for the world at hand, or
 * one that was measured on this machine (`--bench` with `--tuning FILE` writes it, `--tuning FILE`
 * reads it). All ranks must choose alike: who chooses otherwise is refused when ranks meet.
 */
#ifndef LESSON02_CHOICE_H
#define LESSON02_CHOICE_H

#include "lesson02_allreduce/algorithm.h"

#include <stddef.h>
#include <stdint.h>

enum { CHOICE_ROWS_MOST = 16 };

struct choice_row {
    int64_t most_bytes; // of the whole vector
    int64_t algorithm;  // enum algorithm, never AUTO
};

struct choice {
    struct choice_row rows[CHOICE_ROWS_MOST]; // most_bytes ascends; the last is INT64_MAX
};

/* One algorithm for everything. */
struct choice choice_fixed(enum algorithm algorithm);

/* For this world, from measurements on a small machine (see choice.c). */
struct choice choice_builtin(int world);

/* The same of the algorithms that have a reduce-scatter and an all-gather: ring and direct. */
struct choice choice_builtin_halves(int world);

enum algorithm choice_for(const struct choice *choice, size_t bytes);

/* Up to which size the row of this one holds. */
int64_t choice_border(const struct choice *choice, size_t bytes);

#endif
