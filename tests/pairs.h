/*
 * pairs: combinations of flags in which every two values of different factors meet at least once.
 *
 * Faults of a combination mostly need two things to come together, seldom three. Of 15 factors with
 * three values each there are 14 million combinations; some twenty hold every pair:
 *
 *     overlap   on    off   on    off
 *     clip      none  none  1     1         four rows for two factors of two values,
 *     world     2     3     3     2         and still four for a third one
 *
 * A pair that is refused is never asked for; the table says so, and why.
 */
#ifndef TESTS_PAIRS_H
#define TESTS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIRS_VALUES_MOST = 8, PAIRS_FACTORS_MOST = 32, PAIRS_ROWS_MOST = 256 };

/* Flags to choose among, "" for none. The values end with NULL. */
struct pairs_factor {
    const char *values[PAIRS_VALUES_MOST + 1];
};

/* Two values that exclude each other, and words of the sentence that says so. */
struct pairs_refusal {
    const char *one, *other, *words;
};

struct pairs_table {
    const struct pairs_factor *factors;
    size_t factor_count;
    const struct pairs_refusal *refusals;
    size_t refusal_count;
};

/* rows[r][f] is the value of factor f in combination r. Another turn gives other rows. Returns how
 * many: at most PAIRS_ROWS_MOST. */
size_t pairs_rows(const struct pairs_table *table, size_t turn,
                  size_t rows[PAIRS_ROWS_MOST][PAIRS_FACTORS_MOST]);

/* Whether two values exclude each other. */
bool pairs_refused(const struct pairs_table *table, const char *one, const char *other);

#endif
