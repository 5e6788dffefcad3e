/* records: what a run has kept of itself with --record, read by a test. A line that is not whole, or no JSON, fails it. */
#ifndef TESTS_RECORDS_H
#define TESTS_RECORDS_H

#include "tests/lessons.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORDS_RANKS_MOST = 4 };

/* All ranks' lines, and of each the first one. */
struct records {
    int world;
    json_t *lines[RECORDS_RANKS_MOST];
    const json_t *start[RECORDS_RANKS_MOST];
};

/* The files of ranks 0 to world - 1 in the folder `name` of the test's. */
void records_read(struct records *records, const struct folder *folder, const char *name,
                  int world);
void records_release(struct records *records);

/* Line `index` of this kind; NULL: there are not so many. How many there are. Is it one? */
const json_t *records_line(const struct records *records, int rank, const char *event,
                           size_t index);
size_t records_count(const struct records *records, int rank, const char *event);
bool records_is(const json_t *line, const char *event);

/* A value, which must be there and be a number, or a hash. */
double records_real(const json_t *line, const char *key);
uint64_t records_hash(const json_t *line, const char *key);

#endif
