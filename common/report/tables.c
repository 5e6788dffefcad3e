/* tables: a record's numbers as tab-separated files. See the header. */
#include "common/report/tables.h"
#include "common/report/settings.h"
#include "common/report/spans.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

struct tables {
    const struct survey *survey;
    const struct casebook *reference;
    const char *folder;
    struct fail *fail;  // of the first that could not be written
    long traced;        // the step of --trace; -1: none
    double time_most;   // milliseconds, of the step that is shown
    double memory_most; // MiB
};

static FILE *begin(struct tables *tables, const char *name)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", tables->folder, name);
    errno = ENAMETOOLONG;
    FILE *out = length < PATH_BYTES ? fopen(path, "we") : NULL;
    if (!out && !tables->fail->code)
        fail_set(tables->fail, -errno, "cannot write %s/%s: %s", tables->folder, name,
                 strerror(errno));
    return out;
}

static void end(struct tables *tables, const char *name, FILE *out)
{
    errno = EIO;
    bool wrong = ferror(out) != 0;
    wrong = fclose(out) != 0 || wrong;
    if (wrong && !tables->fail->code)
        fail_set(tables->fail, -errno, "cannot write %s/%s: %s", tables->folder, name,
                 strerror(errno));
}

/* gnuplot's word for what is missing. */
static void put(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "\t%.9g", value);
    else
        fputs("\tNaN", out);
}

static void put_point(FILE *out, const struct survey_point *point)
{
    put(out, point->mean);
    put(out, point->least);
    put(out, point->most);
}

/* The middle of some steps, as their number in the run. */
static double middle_of(const struct case_rank *page, struct slice steps)
{
    return (double)page->steps[steps.begin].step + (double)(steps.count - 1) / 2;
}

static struct slice next_of(size_t at, size_t each, size_t count)
{
    return (struct slice){at, count - at < each ? count - at : each};
}

/* A loss is measured before its update: at that time the samples of the updates before it have been seen. */
static void write_loss(struct tables *tables, const char *name, const struct casebook *book)
{
    const struct case_rank *page = &book->ranks[0];
    size_t count = page->step_count;
    size_t each = survey_each(count);
    double samples = 0;
    FILE *out = begin(tables, name);
    if (!out)
        return;
    for (size_t at = 0; at < count; at += each) {
        struct slice steps = next_of(at, each, count);
        struct survey_point point = survey_point(page, steps, survey_loss);
        double seen = survey_samples(page, steps);
        double before = seen * (double)(steps.count - 1) / (2 * (double)steps.count);
        fprintf(out, "%.9g\t%.12g", middle_of(page, steps), samples + before);
        put_point(out, &point);
        fputc('\n', out);
        samples += seen;
    }
    end(tables, name, out);
}

static void write_lost(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    const struct case_rank *page = &survey->book->ranks[0];
    double samples = 0;
    FILE *out = begin(tables, "lost.tsv");
    if (!out)
        return;
    for (size_t at = 0; at < survey->steps; at += survey->each) {
        struct slice steps = next_of(at, survey->each, survey->steps);
        if (survey_point(page, steps, survey_loss).lost > 0)
            fprintf(out, "%.9g\t%.12g\n", middle_of(page, steps), samples);
        samples += survey_samples(page, steps);
    }
    end(tables, "lost.tsv", out);
}

static void write_epochs(struct tables *tables)
{
    const struct case_rank *page = &tables->survey->book->ranks[0];
    double samples = 0;
    size_t k = 0;
    FILE *out = begin(tables, "epochs.tsv");
    if (!out)
        return;
    for (size_t i = 0; i < page->epoch_count; i++) {
        const struct case_epoch *epoch = &page->epochs[i];
        for (; k < page->step_count && page->steps[k].step < epoch->step; k++)
            samples += (double)page->steps[k].samples;
        fprintf(out, "%zu\t%.12g", epoch->step, samples);
        put(out, epoch->train_loss);
        put(out, epoch->test_loss);
        put(out, epoch->test_accuracy);
        fputc('\n', out);
    }
    end(tables, "epochs.tsv", out);
}

static void write_local(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    const struct casebook *book = survey->book;
    FILE *out = begin(tables, "local.tsv");
    if (!out)
        return;
    for (size_t at = 0; at < survey->steps; at += survey->each) {
        struct slice steps = next_of(at, survey->each, survey->steps);
        double least = NAN, most = NAN, means[SURVEY_LINES_MOST] = {0};
        for (size_t rank = 0; rank < book->world; rank++) {
            double mean = survey_point(&book->ranks[rank], steps, survey_loss_local).mean;
            least = fmin(least, mean);
            most = fmax(most, mean);
            if (rank < SURVEY_LINES_MOST)
                means[rank] = mean;
        }
        fprintf(out, "%.9g", middle_of(&book->ranks[0], steps));
        put(out, survey_point(&book->ranks[0], steps, survey_loss).mean);
        put(out, least);
        put(out, most);
        for (size_t rank = 0; rank < book->world && rank < SURVEY_LINES_MOST; rank++)
            put(out, means[rank]);
        fputc('\n', out);
    }
    end(tables, "local.tsv", out);
}

static void write_norms(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    const struct case_rank *page = &survey->book->ranks[0];
    FILE *out = begin(tables, "norms.tsv");
    if (!out)
        return;
    for (size_t at = 0; at < survey->steps; at += survey->each) {
        struct slice steps = next_of(at, survey->each, survey->steps);
        struct survey_point point = survey_point(page, steps, survey_norm);
        fprintf(out, "%.9g", middle_of(page, steps));
        put_point(out, &point);
        fputc('\n', out);
    }
    end(tables, "norms.tsv", out);
}

/* Thinned as well, by leaving out: these are looks at single steps. */
static void write_looks(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    const struct casebook *book = survey->book;
    size_t every = survey->looks / SURVEY_POINTS_MOST + 1, looks = 0;
    FILE *out = begin(tables, "looks.tsv");
    if (!out)
        return;
    for (size_t k = 0; k < survey->steps; k++) {
        double least = NAN, most = NAN;
        bool looked = book->ranks[0].steps[k].look != NULL;
        looks += looked;
        if (!looked || (looks - 1) % every != 0)
            continue;
        for (size_t rank = 0; rank < book->world; rank++) {
            double norm = survey_own_norm(book, rank, k);
            least = fmin(least, norm);
            most = fmax(most, norm);
        }
        fprintf(out, "%zu", book->ranks[0].steps[k].step);
        put(out, survey_reduced_norm(book, k));
        put(out, least);
        put(out, most);
        fputc('\n', out);
    }
    end(tables, "looks.tsv", out);
}

static void write_step(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    FILE *out = begin(tables, "step.tsv");
    if (!out)
        return;
    for (size_t rank = 0; rank < survey->rows && survey->has_times; rank++) {
        const struct case_step *step = &survey->book->ranks[rank].steps[survey->shown];
        double known = step->compute_seconds + step->exposed_seconds;
        fprintf(out, "%zu", rank);
        put(out, 1e3 * step->compute_seconds);
        put(out, 1e3 * step->exposed_seconds);
        put(out, 1e3 * fmax(0, step->seconds - known));
        put(out, 1e3 * step->comm_seconds);
        tables->time_most = fmax(tables->time_most, 1e3 * fmax(step->seconds, known));
        fputc('\n', out);
    }
    end(tables, "step.tsv", out);
}

static void write_spans(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    const struct case_rank *page = &survey->book->ranks[0];
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/trace.json", survey->book->folder);
    FILE *out = begin(tables, "spans.tsv");
    if (!out)
        return;
    if (survey->steps > 0 && length < PATH_BYTES)
        tables->traced = spans_write(path, page->steps[survey->shown].step, survey->rows,
                                     &tables->time_most, out);
    end(tables, "spans.tsv", out);
}

static void write_memory(struct tables *tables)
{
    const struct survey *survey = tables->survey;
    FILE *out = begin(tables, "memory.tsv");
    if (!out)
        return;
    for (size_t rank = 0; rank < survey->rows; rank++) {
        const struct case_start *start = &survey->book->ranks[rank].starts[0];
        if (!start->has_ledger)
            continue;
        fprintf(out, "%zu", rank);
        for (int use = 0; use < MEMORY_USES; use++)
            put(out, (double)start->ledger.now_bytes[use] / 1048576);
        put(out, (double)start->ledger.peak_total_bytes / 1048576);
        tables->memory_most =
            fmax(tables->memory_most, (double)start->ledger.peak_total_bytes / 1048576);
        fputc('\n', out);
    }
    end(tables, "memory.tsv", out);
}

static void write_settings(struct tables *tables)
{
    struct settings settings = {.survey = tables->survey,
                                .reference = tables->reference,
                                .traced = tables->traced,
                                .time_most = tables->time_most,
                                .memory_most = tables->memory_most};
    FILE *out = begin(tables, "settings.gp");
    if (!out)
        return;
    settings_write(&settings, out);
    end(tables, "settings.gp", out);
}

int tables_write(const struct survey *survey, const struct casebook *reference, const char *folder,
                 struct fail *fail)
{
    struct tables tables = {
        .survey = survey, .reference = reference, .folder = folder, .fail = fail, .traced = -1};
    write_loss(&tables, "loss.tsv", survey->book);
    if (reference)
        write_loss(&tables, "reference.tsv", reference);
    write_lost(&tables);
    write_epochs(&tables);
    write_local(&tables);
    write_norms(&tables);
    write_looks(&tables);
    write_step(&tables);
    write_spans(&tables);
    write_memory(&tables);
    write_settings(&tables);
    return fail->code;
}
