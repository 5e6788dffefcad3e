/*
 * survey: what of a record there is to draw, looked through once: ranges of axes, what is not finite, which step
 * shows a step. Tables, gnuplot's settings and the page all go by it, so that none says what another does not show.
 *
 * A long run is thinned: `each` updates in a row become one point, their mean, with the least and the most of them
 * beside it. No update is left out.
 */
#ifndef REPORT_SURVEY_H
#define REPORT_SURVEY_H

#include "common/doctor/casebook.h"
#include "common/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SURVEY_POINTS_MOST = 800,
    SURVEY_LINES_MOST = 6, // ranks that get a line of their own
    SURVEY_ROWS_MOST = 64, // ranks that get a row of their own
};

typedef double (*survey_value)(const struct case_step *step);
double survey_loss(const struct case_step *step);
double survey_loss_local(const struct case_step *step);
double survey_norm(const struct case_step *step);

/* Updates of a point, of a record of so many steps. At least 1. */
size_t survey_each(size_t steps);

/* Of the finite values of some steps of a rank, by their place in the record; NAN where there is none. */
struct survey_point {
    double mean, least, most;
    size_t lost; // values that are not finite
};
struct survey_point survey_point(const struct case_rank *page, struct slice steps,
                                 survey_value value);

/* Of all ranks, that these updates have seen. */
double survey_samples(const struct case_rank *page, struct slice steps);

struct survey_range {
    bool any; // is there a finite value?
    double least, most;
    bool logarithmic; // all above 0, and more than a factor of 20 between them
};
void survey_widen(struct survey_range *range, double value);
void survey_close(struct survey_range *range); // decides on logarithmic

struct survey {
    const struct casebook *book;
    size_t steps, each;        // that every rank has; see above
    size_t first, last;        // their numbers in the run
    struct survey_range loss;  // with test losses
    struct survey_range local; // with the reported loss
    struct survey_range norm;  // with the ranks' own, where they looked
    size_t lost;               // reported losses that are not finite
    size_t looks;              // steps at which all ranks looked closely
    bool has_norms;            // of every update
    bool has_times;
    size_t shown; // the step whose seconds are the median, by its place in the record
    size_t rows;  // ranks drawn one below the other
};

/* Of the run alone, but for the range of losses, which takes in the reference, if there is one. */
void survey_take(struct survey *survey, const struct casebook *book,
                 const struct casebook *reference);

/* The norm of the gradient that rank's optimizer was given, or of its own before the reduction, all tensors together. NAN: not
 * at this step. */
double survey_reduced_norm(const struct casebook *book, size_t k);
double survey_own_norm(const struct casebook *book, size_t rank, size_t k);

#endif
