/*
 * plot: a run's loss as a curve of letters, for a terminal or a log.
 *
 *     0.93 |*
 *          | **
 *          |   ****o
 *     0.21 |        *************o
 *          +----------------------
 *
 * Numbers go in one by one, as many as there will be: cells hold the means of equally many updates in a
 * row, and when they are full, pairs become one. So memory is fixed, and so is what is drawn of a
 * number: never a sample of the updates, always a mean over all of them. A loss that is not finite is in
 * no mean; where one was, there is an x. Drawing looks at nothing but the numbers.
 */
#ifndef COMMON_PLOT_H
#define COMMON_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PLOT_CELLS = 256, PLOT_COLUMNS = 64, PLOT_ROWS = 16 };

struct plot_cell {
    double train, test;   // sums of
    size_t trains, tests; // so many
    bool not_finite;      // there was a loss that is not
};

struct plot { // all zero: empty
    struct plot_cell cells[PLOT_CELLS];
    size_t count; // of updates, from the first to the last
    size_t first; // the first one's index
    size_t each;  // updates of a cell
};

enum plot_letters { PLOT_ASCII, PLOT_UTF8 };

/* The loss of an update. Indices rise by 1; the first may be any, where a run was resumed. */
void plot_train(struct plot *plot, size_t step, double loss);

/* The loss on the test set after that update, which plot_train has seen. NAN, of no test set: nothing. */
void plot_test(struct plot *plot, size_t step, double loss);

/* PLOT_ROWS rows and two for the axis, each below 76 columns. The axis of losses is logarithmic where they span
 * more than a factor of 20. Draws nothing when no update was seen. */
void plot_draw(const struct plot *plot, enum plot_letters letters, FILE *out);

/* What the locale says in LC_ALL, LC_CTYPE or LANG, the first of them that is set. */
enum plot_letters plot_letters(void);

#endif
