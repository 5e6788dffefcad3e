/*
 * table: what a reader found in a file, before anyone asks what it is for.
 *
 * Rows of features with their targets as numbers. A table remembers how its rows are called in
 * the file, so that whoever objects to a target later can still say where it stands.
 */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include "common/fail.h"
#include "common/memory.h"
#include "common/options.h"

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_PATH_BYTES = 4096 };

struct table {
    char path[TABLE_PATH_BYTES]; // the file that holds the targets
    const char *unit;            // how the file counts rows: "line" or "index"
    size_t first;                // the number of row 0: lines from 1, indices from 0

    size_t count;    // rows
    size_t width;    // features of a row
    size_t outputs;  // targets of a row
    float *features; // (count, width)
    float *targets;  // (count, outputs)

    enum task task;  // TASK_BY_DATA: look at the targets
    size_t classes;  // targets are 0 .. classes-1; 0: the file does not say
    bool holds_test; // every fifth row is by definition for testing
    bool has_test;   // the rows for testing are in a file of their own
    struct memory *memory;
};

/* A zeroed table gets its path, and zeroed arrays. 0, -ENOMEM, -ENAMETOOLONG; whatever the
 * outcome, table_release is due. */
int table_init(struct table *table, const char *path, struct memory *memory, struct fail *fail);
int table_size(struct table *table, size_t count, size_t width, size_t outputs, struct fail *fail);
void table_release(struct table *table);

#endif
