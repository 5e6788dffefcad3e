/*
 * tables: what every reader of samples promises, whatever the format.
 *
 * Of a table: counts that fit what was allocated, numbers that are finite. Of the data set that is
 * made from it: every row in exactly one part, every label within the classes.
 */
#ifndef TESTS_FUZZ_TABLES_H
#define TESTS_FUZZ_TABLES_H

#include "common/table.h"
#include "tests/fuzz/target.h"

/* The promise that an accepted table breaks, or NULL. `memory` has counted nothing else. */
const char *tables_broken(const struct table *table, const struct memory *memory);

/* The promise broken by dataset_load of `path`, whose table has `rows` rows, or NULL. */
const char *tables_load_broken(const char *path, size_t rows);

#endif
