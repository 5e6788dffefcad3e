/*
 * line: one object of a record, and its members taken out with a check of each.
 *
 * The first member that is not what it must be is told in a sentence with file and line; what is taken after that is
 * zero. So a reader takes all it wants in a row and asks once.
 */
#ifndef DOCTOR_LINE_H
#define DOCTOR_LINE_H

#include "common/doctor/casebook.h"

struct line {
    const char *path;
    size_t number;
    const json_t *object; // of which members are taken
    struct fail *fail;    // code is 0 while all is well
};

/* Expected `what` of member `key`, and found something else: says so. */
void line_refuse(const struct line *line, const char *key, const char *what);

size_t line_size(const struct line *line, const char *key); // a whole number from 0 to 2^53
double line_real(const struct line *line, const char *key); // a number; null: NaN
bool line_bool(const struct line *line, const char *key);
bool line_known_true(const struct line *line, const char *key);       // null: nobody knows, false
const char *line_text(const struct line *line, const char *key);      // "" where there is none
struct case_hash line_hash(const struct line *line, const char *key); // hex digits; null: none

/* A pair of numbers for each tensor; null instead of the list: NaN. */
void line_sketches(const struct line *line, const char *key, struct sketch *sketches, size_t count);

#endif
