/* settings: what of a run there is to draw, as gnuplot's variables. See the header. */
#include "common/report/settings.h"

#include <math.h>

/* An axis with a little room at both ends. */
static void set_range(FILE *out, const char *name, const struct survey_range *range)
{
    double least = range->least, most = range->most;
    double room = most > least ? 0.05 * (most - least) : fmax(0.1 * fabs(most), 1e-6);
    if (range->logarithmic) {
        least /= 1.3;
        most *= 1.3;
    } else {
        least -= room;
        most += room;
    }
    fprintf(out, "%s_any = %d\n%s_log = %d\n", name, range->any, name, range->logarithmic);
    fprintf(out, "%s_least = %.9g\n%s_most = %.9g\n", name, range->any ? least : 0, name,
            range->any ? most : 1);
}

static double all_samples(const struct casebook *book)
{
    const struct case_rank *page = &book->ranks[0];
    return survey_samples(page, (struct slice){0, page->step_count});
}

void settings_write(const struct settings *settings, FILE *out)
{
    const struct survey *survey = settings->survey;
    const struct casebook *book = survey->book, *reference = settings->reference;
    size_t last = survey->last;
    double samples = all_samples(book);
    if (reference && reference->ranks[0].step_count > 0) {
        size_t theirs = reference->ranks[0].steps[reference->ranks[0].step_count - 1].step;
        last = theirs > last ? theirs : last;
        samples = fmax(samples, all_samples(reference));
    }
    fprintf(out, "first = %zu\nlast = %zu\nown_last = %zu\nsamples = %.12g\n", survey->first, last,
            survey->last, samples);
    fprintf(out, "points = %zu\neach = %zu\n", survey->steps, survey->each);
    fprintf(out, "epochs = %zu\nlost = %zu\n", book->ranks[0].epoch_count, survey->lost);
    fprintf(out, "world = %zu\nrows = %zu\nlines = %d\n", book->world, survey->rows,
            SURVEY_LINES_MOST);
    fprintf(out, "has_reference = %d\nhas_norms = %d\nlooks = %zu\n", reference != NULL,
            survey->has_norms, survey->looks);
    fprintf(out, "clip = %.9g\nhas_times = %d\n", book->options.clip, survey->has_times);
    fprintf(out, "shown = %zu\ntraced = %ld\n",
            survey->steps > 0 ? book->ranks[0].steps[survey->shown].step : 0, settings->traced);
    fprintf(out, "time_most = %.9g\nmemory_most = %.9g\n", settings->time_most,
            settings->memory_most);
    fprintf(out, "has_memory = %d\n", book->ranks[0].starts[0].has_ledger);
    set_range(out, "loss", &survey->loss);
    set_range(out, "local", &survey->local);
    set_range(out, "norm", &survey->norm);
}
