/* survey: what of a record there is to draw. See the header. */
#include "common/report/survey.h"

#include <math.h>
#include <stdlib.h>

static const double log_from = 20;

double survey_loss(const struct case_step *step)
{
    return step->loss;
}

double survey_loss_local(const struct case_step *step)
{
    return step->loss_local;
}

double survey_norm(const struct case_step *step)
{
    return step->grad_norm;
}

size_t survey_each(size_t steps)
{
    size_t each = (steps + SURVEY_POINTS_MOST - 1) / SURVEY_POINTS_MOST;
    return each > 0 ? each : 1;
}

double survey_samples(const struct case_rank *page, struct slice steps)
{
    double samples = 0;
    for (size_t k = steps.begin; k < steps.begin + steps.count; k++)
        samples += (double)page->steps[k].samples;
    return samples;
}

struct survey_point survey_point(const struct case_rank *page, struct slice steps,
                                 survey_value value)
{
    struct survey_point point = {.mean = NAN, .least = NAN, .most = NAN};
    double sum = 0;
    for (size_t k = steps.begin; k < steps.begin + steps.count; k++) {
        double one = value(&page->steps[k]);
        if (!isfinite(one)) {
            point.lost++;
            continue;
        }
        sum += one;
        point.least = fmin(point.least, one); // of a NaN and a number, the number
        point.most = fmax(point.most, one);
    }
    if (point.lost < steps.count)
        point.mean = sum / (double)(steps.count - point.lost);
    return point;
}

void survey_widen(struct survey_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->least = range->any ? fmin(range->least, value) : value;
    range->most = range->any ? fmax(range->most, value) : value;
    range->any = true;
}

void survey_close(struct survey_range *range)
{
    range->logarithmic = range->any && range->least > 0 && range->most > log_from * range->least;
}

/* Sums of squares; NaN where a rank has not looked. In lesson 4 each rank owns a part, before that all. */
double survey_reduced_norm(const struct casebook *book, size_t k)
{
    double squares = 0;
    size_t owners = book->lesson == 4 ? book->world : 1;
    for (size_t rank = 0; rank < owners; rank++) {
        const struct case_look *look = book->ranks[rank].steps[k].look;
        for (size_t i = 0; i < book->tensor_count; i++)
            squares += look ? look->reduced[i].squares : NAN;
    }
    return sqrt(squares);
}

double survey_own_norm(const struct casebook *book, size_t rank, size_t k)
{
    const struct case_look *look = book->ranks[rank].steps[k].look;
    double squares = 0;
    for (size_t i = 0; i < book->tensor_count; i++)
        squares += look ? look->raw[i].squares : NAN;
    return sqrt(squares);
}

/* The axis is for what is drawn as a line: the means. */
static void measure_means(struct survey_range *range, const struct case_rank *page,
                          survey_value value)
{
    size_t count = page->step_count, each = survey_each(count);
    for (size_t at = 0; at < count; at += each) {
        struct slice steps = {at, count - at < each ? count - at : each};
        survey_widen(range, survey_point(page, steps, value).mean);
    }
}

static void measure_losses(struct survey_range *range, const struct casebook *book)
{
    const struct case_rank *page = &book->ranks[0];
    measure_means(range, page, survey_loss);
    for (size_t i = 0; i < page->epoch_count; i++) {
        survey_widen(range, page->epochs[i].test_loss);
        survey_widen(range, page->epochs[i].train_loss);
    }
}

static void measure_norms(struct survey *survey, size_t k)
{
    const struct casebook *book = survey->book;
    double norm = book->ranks[0].steps[k].grad_norm;
    bool looked = true;
    survey->has_norms = survey->has_norms || isfinite(norm);
    survey_widen(&survey->norm, norm);
    survey_widen(&survey->norm, survey_reduced_norm(book, k));
    for (size_t rank = 0; rank < book->world; rank++) {
        looked = looked && book->ranks[rank].steps[k].look;
        survey_widen(&survey->norm, survey_own_norm(book, rank, k));
    }
    survey->looks += looked;
}

struct timed {
    double seconds;
    size_t at; // in the record
};

static int compare_seconds(const void *a, const void *b)
{
    const struct timed *left = a, *right = b;
    return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

/* The median of rank 0's steps. Verified ones, which take longer, are few and so at one end. The first, without memory. */
static size_t find_median(const struct survey *survey)
{
    size_t count = survey->steps;
    struct timed *sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return 0;
    for (size_t k = 0; k < count; k++)
        sorted[k] = (struct timed){survey->book->ranks[0].steps[k].seconds, k};
    qsort(sorted, count, sizeof *sorted, compare_seconds);
    size_t median = sorted[count / 2].at;
    free(sorted);
    return median;
}

static bool has_times(const struct survey *survey)
{
    for (size_t rank = 0; rank < survey->book->world && survey->steps > 0; rank++) {
        const struct case_step *step = &survey->book->ranks[rank].steps[survey->shown];
        if (!isfinite(step->seconds) || !isfinite(step->compute_seconds) ||
            !isfinite(step->comm_seconds) || !isfinite(step->exposed_seconds))
            return false;
    }
    return survey->steps > 0;
}

void survey_take(struct survey *survey, const struct casebook *book,
                 const struct casebook *reference)
{
    *survey = (struct survey){.book = book, .steps = casebook_steps(book)};
    survey->each = survey_each(survey->steps);
    survey->rows = book->world < SURVEY_ROWS_MOST ? book->world : SURVEY_ROWS_MOST;
    if (survey->steps > 0) {
        survey->first = book->ranks[0].steps[0].step;
        survey->last = book->ranks[0].steps[survey->steps - 1].step;
    }
    measure_losses(&survey->loss, book);
    if (reference)
        measure_losses(&survey->loss, reference);
    for (size_t k = 0; k < survey->steps; k++) {
        measure_norms(survey, k);
        survey->lost += !isfinite(book->ranks[0].steps[k].loss);
    }
    measure_means(&survey->local, &book->ranks[0], survey_loss);
    for (size_t rank = 0; rank < book->world; rank++)
        measure_means(&survey->local, &book->ranks[rank], survey_loss_local);
    survey_close(&survey->loss);
    survey_close(&survey->local);
    survey_close(&survey->norm);
    survey->shown = find_median(survey);
    survey->has_times = has_times(survey);
}
