/*
 * rates: is the learning rate the one that the options ask for, and does it fit the batch?
 *
 * The batch of a rate is a choice, and a doctor cannot know what was meant. What it can see: with --per-rank-batch the global
 * batch grows with the ranks, and the rate is either scaled with it (--lr-scale, or by hand) or is still the one that a
 * single process would be given. A scaled rate that all of the first updates take is told by what the loss does then.
 */
#include "common/doctor/doctor.h"

#include <math.h>

enum {
    BASE_BATCH = 64,
    EARLY_STEPS = 60
}; // of --lr-scale; in which a rate that is too large shows
static const double PI = 3.14159265358979323846;

/* Of the first loss: what noise and a short last batch do on the digits stays below 0.17. And of the default rate. */
static const double RISE = 0.2, LARGE = 10;

/* --- the schedule -------------------------------------------------------------------------------- */

static double scale_of(const struct options *options)
{
    double samples = (double)options->batch * (double)options->accumulate / BASE_BATCH;
    switch (options->lr_scale) {
    case LR_SCALE_LINEAR:
        return samples;
    case LR_SCALE_SQRT:
        return sqrt(samples);
    case LR_SCALE_NONE:
        break;
    }
    return 1;
}

/* As lesson01_single/schedule.h defines it, computed here once more. */
static double scheduled(const struct options *options, double update, double updates)
{
    double rate = options->lr * scale_of(options), warmup = (double)options->warmup;
    double x = updates > warmup ? (update - warmup) / (updates - warmup) : 0;
    if (update < warmup)
        return rate * (update + 1) / warmup;
    switch (options->schedule) {
    case SCHEDULE_LINEAR:
        return rate * (1 - x);
    case SCHEDULE_COSINE:
        return rate * (1 + cos(PI * x)) / 2;
    case SCHEDULE_HALVE:
        return ldexp(rate, -(int)fmin(update / (double)options->halve_every, 2000));
    case SCHEDULE_CONSTANT:
        break;
    }
    return rate;
}

/* The first step whose rate is not the schedule's. Only updates count, so a run of whose beginning nothing is known, in which
 * some may have been skipped, is not judged. */
static size_t first_wrong(const struct doctor *doctor, double *found, double *expected)
{
    const struct casebook *book = doctor->book;
    size_t steps = casebook_steps(book), made = 0;
    if (book->ranks[0].starts[0].first > 0)
        return NOWHERE;
    for (size_t k = 0; k < steps; k++) {
        const struct case_step *step = doctor_step(doctor, 0, k);
        const struct case_start *start = &book->ranks[0].starts[casebook_process(book, step->step)];
        *found = step->lr;
        *expected = scheduled(&start->asked, (double)made, (double)start->updates);
        bool all = true;
        for (size_t rank = 0; rank < book->world; rank++)
            all = all && doctor_step(doctor, rank, k)->updated;
        if (all && !(fabs(*found - *expected) <= 1e-6 * fabs(*expected) + 1e-300))
            return k;
        made += step->updated;
    }
    return NOWHERE;
}

static void explain_schedule(struct doctor *doctor)
{
    double found, expected;
    size_t k = first_wrong(doctor, &found, &expected), steps = casebook_steps(doctor->book);
    if (k == NOWHERE) {
        if (steps > 0)
            diagnosis_looked(doctor->diagnosis, "rate",
                             "%g at first, %g at last, as the schedule says",
                             doctor_step(doctor, 0, 0)->lr, doctor_step(doctor, 0, steps - 1)->lr);
        return;
    }
    struct finding *finding = diagnosis_other(
        doctor->diagnosis, "wrong-rate", "the learning rate is not the one the options ask for",
        "count the schedule in updates, once for each, whatever the number of ranks");
    finding_deciding(finding, "the rate of step %zu: %g, where the schedule says %g",
                     doctor_step(doctor, 0, k)->step, found, expected);
}

/* --- the batch ----------------------------------------------------------------------------------- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 0.01 * fabs(b);
}

static double default_lr(const struct options *options)
{
    return options->optimizer == OPTIMIZER_SGD ? 0.05 : 0.001;
}

/* By linear or root scaling, from one rank to all, or from the batch that rates of the course are for. */
static bool is_scaled_by_hand(const struct doctor *doctor, double base)
{
    const struct options *options = &doctor->book->options;
    double world = (double)doctor->book->world;
    double samples = (double)options->batch * (double)options->accumulate / BASE_BATCH;
    double ratio = options->lr / base;
    return !is_near(ratio, 1) && (is_near(ratio, world) || is_near(ratio, sqrt(world)) ||
                                  is_near(ratio, samples) || is_near(ratio, sqrt(samples)));
}

static double full_batch(const struct casebook *book)
{
    return (double)book->options.batch * (double)book->options.accumulate;
}

/* Against a reference there is no need to guess. */
static bool same_rate_for_more(const struct doctor *doctor)
{
    const struct casebook *reference = doctor->reference, *book = doctor->book;
    return full_batch(book) > full_batch(reference) && book->options.lr_scale == LR_SCALE_NONE &&
           book->options.optimizer == reference->options.optimizer &&
           is_near(book->options.lr, reference->options.lr * scale_of(&reference->options));
}

static void tell_batch(const struct doctor *doctor, struct finding *finding)
{
    const struct options *options = &doctor->book->options;
    finding_evidence(finding,
                     "--per-rank-batch %zu on %zu ranks: an update takes %zu samples, where one "
                     "process takes %zu",
                     options->per_rank_batch, doctor->book->world,
                     options->batch * options->accumulate,
                     options->per_rank_batch * options->accumulate);
}

static void explain_unscaled(struct doctor *doctor)
{
    const struct options *options = &doctor->book->options;
    double base = default_lr(options);
    bool grows = options->per_rank_batch > 0 && doctor->book->world > 1;
    if (options->lr_scale != LR_SCALE_NONE || (!grows && !doctor->reference))
        return;
    bool compared = doctor->reference && same_rate_for_more(doctor);
    if (!compared && (doctor->reference || is_scaled_by_hand(doctor, base)))
        return;
    bool by_default = is_near(options->lr, base);
    if (!compared && by_default && full_batch(doctor->book) <= BASE_BATCH)
        return; // the default is for so many samples: --lr-scale would not make it larger
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_NO_LR_SCALE,
                                               compared     ? CERTAIN
                                               : by_default ? STRONG
                                                            : LIKELY);
    if (grows)
        tell_batch(doctor, finding);
    if (compared)
        finding_deciding(finding,
                         "samples of an update and rate, against the reference: %.0f and %.0f "
                         "samples, and the rate is %g in "
                         "both",
                         full_batch(doctor->book), full_batch(doctor->reference), options->lr);
    else
        finding_deciding(finding,
                         "the rate: %g%s, with --lr-scale none, as if the batch had not grown%s",
                         options->lr, by_default ? ", the default for one process" : "",
                         by_default ? "" : " (unless it was chosen for this batch)");
}

/* How far the loss of the first steps rises above the lowest before, and at which step. */
static size_t rise_of(const struct doctor *doctor, double *rise)
{
    size_t steps = casebook_steps(doctor->book), at = 0;
    double lowest = doctor_step(doctor, 0, 0)->loss;
    *rise = 0;
    for (size_t k = 1; k < steps && k <= EARLY_STEPS; k++) {
        double loss = doctor_step(doctor, 0, k)->loss;
        if (2 * doctor_step(doctor, 0, k)->samples < doctor_step(doctor, 0, 0)->samples)
            continue; // an epoch's last few samples may happen to be hard ones
        if (loss - lowest > *rise) {
            *rise = loss - lowest;
            at = k;
        }
        lowest = fmin(lowest, loss);
    }
    return at;
}

/* What a loss does under a scaled rate tells whether it was too much at once. One that does not fall at all tells nothing:
 * then the rate itself has to. */
static void explain_warmup(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    const struct options *options = &book->options;
    double scale = scale_of(options), rise;
    if (options->lr_scale == LR_SCALE_NONE || options->warmup > 0 || scale <= 1 ||
        casebook_steps(book) < 2 || book->ranks[0].starts[0].first > 0)
        return;
    size_t at = rise_of(doctor, &rise);
    double first = doctor_step(doctor, 0, 0)->loss, lr = doctor_step(doctor, 0, 0)->lr;
    bool rises = rise > RISE * first, large = scale >= 2 && lr > LARGE * default_lr(options);
    if (!rises && !large) {
        diagnosis_note(doctor->diagnosis, "no warm-up",
                       "--lr-scale makes the rate %.4g times %g from the first update on; the loss "
                       "does not mind here, but --warmup would be safer",
                       scale, options->lr);
        return;
    }
    struct finding *finding =
        diagnosis_member(doctor->diagnosis, ZOO_LR_SCALE_NO_WARMUP, rises ? STRONG : LIKELY);
    finding_evidence(
        finding,
        "--lr-scale makes the rate %.4g times %g, and --warmup is 0: the first update takes %g",
        scale, options->lr, lr);
    if (options->per_rank_batch > 0 && book->world > 1)
        tell_batch(doctor, finding);
    if (rises)
        finding_deciding(finding,
                         "the loss of the first %d steps: it starts at %.4g, and at step %zu has "
                         "risen by %.4g above the lowest before",
                         EARLY_STEPS, first, doctor_step(doctor, 0, at)->step, rise);
    else
        finding_deciding(
            finding,
            "the first rate: %g, %.0f times the default, at once (the loss of the first "
            "%d steps does not rise)",
            lr, lr / default_lr(options), EARLY_STEPS);
}

void rates_explain(struct doctor *doctor)
{
    explain_schedule(doctor);
    explain_unscaled(doctor);
    explain_warmup(doctor);
}
