/*
 * reference: the run beside a healthy one of the same network and data, of any number of ranks.
 *
 * Where both begin with the same parameters and take the same samples, their first gradients are equal, to rounding. How
 * their ratio is off tells the same as one run alone does, independently. And two curves that differ by updates may be
 * one curve by samples.
 */
#include "common/doctor/doctor.h"

#include <math.h>
#include <string.h>

static const double RATIO_TOLERANCE = 0.01, CURVE_TOLERANCE = 0.1;

/* The sketch of what all ranks' optimizers were given. */
static double given(const struct casebook *book, size_t tensor)
{
    double sum = 0;
    for (size_t rank = 0; rank < (doctor_owns_all(book) ? 1 : book->world); rank++)
        sum += book->ranks[rank].steps[0].look->reduced[tensor].sum;
    return sum;
}

static struct sketch held(const struct casebook *book, size_t tensor)
{
    struct sketch all = {0};
    for (size_t rank = 0; rank < (doctor_owns_all(book) ? 1 : book->world); rank++) {
        all.sum += book->ranks[rank].starts[0].param[tensor].sum;
        all.squares += book->ranks[rank].starts[0].param[tensor].squares;
    }
    return all;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same numbers to begin with, from the same data? */
static bool same_origin(const struct options *a, const struct options *b)
{
    return same_text(a->data, b->data) && same_text(a->init, b->init) &&
           same_text(a->tie, b->tie) && same_text(a->freeze, b->freeze) && a->task == b->task;
}

static uint64_t first_samples(const struct casebook *book)
{
    uint64_t seen = 0;
    for (size_t rank = 0; rank < book->world; rank++)
        seen += book->ranks[rank].steps[0].seen;
    return seen;
}

/* Do both begin at the beginning, with what makes a first gradient the same? */
static bool are_comparable(const struct casebook *a, const struct casebook *b)
{
    return same_origin(&a->options, &b->options) && a->options.seed == b->options.seed &&
           a->options.precision == b->options.precision &&
           a->options.dropout == b->options.dropout && a->options.layer_drop == 0 &&
           b->options.layer_drop == 0 && a->options.compress == b->options.compress &&
           a->ranks[0].starts[0].first == 0 && b->ranks[0].starts[0].first == 0 &&
           casebook_steps(a) > 0 && casebook_steps(b) > 0;
}

/* Parts of a tensor may cancel out in the sum; what is recorded is rounded, to a share of the parts. */
static bool begin_equal(const struct casebook *a, const struct casebook *b)
{
    for (size_t i = 0; i < a->tensor_count; i++) {
        struct sketch mine = held(a, i), theirs = held(b, i);
        double size = sqrt(mine.squares * (double)a->tensors[i].count);
        if (fabs(mine.sum - theirs.sum) > 1e-9 * size)
            return false;
    }
    return true;
}

/* The factor that brings the reference's first gradient nearest to the run's; *far: how far that is. */
static double gradient_ratio(const struct casebook *a, const struct casebook *b, double *far)
{
    double ab = 0, bb = 0, aa = 0;
    for (size_t i = 0; i < a->tensor_count; i++) {
        ab += given(a, i) * given(b, i);
        bb += given(b, i) * given(b, i);
        aa += given(a, i) * given(a, i);
    }
    double ratio = bb > 0 ? ab / bb : 1;
    *far = aa > 0 ? sqrt(fmax(aa - ab * ratio, 0) / aa) : 0;
    return ratio;
}

static struct finding *finding_of(struct doctor *doctor, enum zoo_member member)
{
    for (size_t i = 0; i < doctor->diagnosis->finding_count; i++)
        if (doctor->diagnosis->findings[i].row == &zoo_table[member])
            return &doctor->diagnosis->findings[i];
    return NULL;
}

static void compare_gradients(struct doctor *doctor)
{
    double far, ratio = gradient_ratio(doctor->book, doctor->reference, &far);
    struct finding *finding = finding_of(doctor, ZOO_SUM_NOT_MEAN);
    if (!finding)
        finding = finding_of(doctor, ZOO_MEAN_TWICE);
    if (finding) {
        finding_evidence(finding, "the first gradient is %.4g times the reference's", ratio);
        return;
    }
    if (doctor->diagnosis->finding_count > 0)
        return; // what was found may change it in any way
    if (fabs(ratio - 1) <= RATIO_TOLERANCE && far <= RATIO_TOLERANCE) {
        diagnosis_looked(doctor->diagnosis, "reference",
                         "the first gradient is %.6g times the reference's", ratio);
        return;
    }
    finding = diagnosis_other(
        doctor->diagnosis, "unlike-reference",
        "with the same parameters and samples, the first gradient is not the reference's",
        "compare the options of both runs; run with --verify 2");
    finding_deciding(
        finding,
        "the first gradient against the reference's: %.4g times, and off by %.2g of its norm",
        ratio, far);
}

/* In stage 3 no rank has all parameters, and one run alone may not tell. */
static void explain_beginning(struct doctor *doctor)
{
    if (diagnosis_has(doctor->diagnosis, ZOO_SEED_PER_RANK))
        return;
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_SEED_PER_RANK, STRONG);
    finding_deciding(finding,
                     "sketches of all parameters before the first step: they are not the "
                     "reference's, with the same --seed "
                     "%zu",
                     (size_t)doctor->book->options.seed);
}

/* --- curves -------------------------------------------------------------------------------------- */

/* The mean loss of the steps around a place, which is counted in samples or in updates. */
static double loss_at(const struct casebook *book, double place, bool samples)
{
    size_t steps = casebook_steps(book), count = 0;
    double passed = 0, sum = 0, unit = samples ? (double)book->ranks[0].steps[0].samples : 1;
    double window = fmax(place / 8, 2 * unit);
    for (size_t k = 0; k < steps; k++) {
        const struct case_step *step = &book->ranks[0].steps[k];
        passed += samples ? (double)step->samples : 1;
        if (fabs(passed - place) > window || !isfinite(step->loss))
            continue;
        sum += step->loss;
        count++;
    }
    return count > 0 ? sum / (double)count : NAN;
}

static double length_of(const struct casebook *book, bool samples)
{
    size_t steps = casebook_steps(book);
    double length = 0;
    for (size_t k = 0; k < steps; k++)
        length += samples ? (double)book->ranks[0].steps[k].samples : 1;
    return length;
}

static double difference(const struct doctor *doctor, bool samples)
{
    double end = fmin(length_of(doctor->book, samples), length_of(doctor->reference, samples));
    double a = loss_at(doctor->book, end, samples), b = loss_at(doctor->reference, end, samples);
    return fabs(a - b) / (fabs(b) + 1e-300);
}

static void compare_curves(struct doctor *doctor)
{
    const struct casebook *book = doctor->book, *reference = doctor->reference;
    if (casebook_steps(book) < 4 || casebook_steps(reference) < 4 ||
        book->ranks[0].steps[0].samples == reference->ranks[0].steps[0].samples)
        return;
    double updates = difference(doctor, false), samples = difference(doctor, true);
    if (samples <= CURVE_TOLERANCE && updates > 2 * samples)
        diagnosis_note(doctor->diagnosis, "x-axis",
                       "updates take %zu samples here and %zu in the reference: after as many "
                       "samples the losses differ by %.0f "
                       "%%, after as many updates by %.0f %%; draw both over samples",
                       book->ranks[0].steps[0].samples, reference->ranks[0].steps[0].samples,
                       100 * samples, 100 * updates);
}

void reference_explain(struct doctor *doctor)
{
    const struct casebook *book = doctor->book, *reference = doctor->reference;
    if (!reference)
        return;
    if (are_comparable(book, reference)) {
        bool looked = doctor_looked(book, 0) && doctor_looked(reference, 0);
        if (!begin_equal(book, reference))
            explain_beginning(doctor);
        else if (looked && first_samples(book) == first_samples(reference))
            compare_gradients(doctor);
    }
    compare_curves(doctor);
}
