/*
 * weights: how much does a sample count in the gradient? 1 / (samples of the update), on every rank.
 *
 * Two well-known mistakes have a weight of their own, and both are recomputed for every step and rank:
 *
 *     1 / (this rank's samples)                                  the sum over ranks is not divided by N
 *     1 / (micro-batches * N * this rank's rows of the micro-batch)  a mean of means
 */
#include "common/doctor/doctor.h"
#include "common/slice.h"

#include <math.h>

/* A weight is a float: divided once or twice, it is off by a few units of its last place. */
static const double TOLERANCE = 0x1p-20;

static bool is_near(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * fabs(b);
}

/* What a mean of means makes of a step, of a rank that has rows in some micro-batch. */
struct weights {
    double least, most;
};

/* The rows follow from the step's samples: all micro-batches but the last are full. A rank that takes rank 0's
 * share, or its own --batch, has as many rows as it says. */
static struct weights per_micro_batch(const struct doctor *doctor, size_t rank,
                                      const struct case_step *step)
{
    const struct sampling *sampling = &doctor->facts.samples.sampling;
    size_t world = doctor->book->world, batch = doctor->book->options.batch;
    struct weights weights = {INFINITY, 0};
    if (sampling->own_batch)
        batch *= world;
    for (size_t m = 0; m < step->micro_batches; m++) {
        size_t begin = m * batch, left = step->samples > begin ? step->samples - begin : 0;
        size_t count = left < batch ? left : batch;
        size_t rows = slice_of(count, world, sampling->first_share ? 0 : rank).count;
        double weight = 1 / ((double)step->micro_batches * (double)world * (double)rows);
        if (rows == 0)
            continue;
        weights.least = fmin(weights.least, weight);
        weights.most = fmax(weights.most, weight);
    }
    return weights;
}

static void measure_step(struct doctor *doctor, size_t rank, const struct case_step *step)
{
    struct weights_facts *facts = &doctor->facts.weights;
    double samples = (double)step->samples, mine = (double)step->samples_local;
    double least = step->weight_least, most = step->weight_most;
    struct weights means = per_micro_batch(doctor, rank, step);
    if (step->samples_local == 0 || !isfinite(least) || !isfinite(most))
        return;
    facts->steps++;
    if (facts->is_right && (!is_near(least * samples, 1) || !is_near(most * samples, 1))) {
        facts->is_right = false;
        facts->step = step->step;
        facts->ratio_least = facts->ratio_most = least * samples;
    }
    if (!facts->is_right && step->step == facts->step) {
        facts->ratio_least = fmin(facts->ratio_least, least * samples);
        facts->ratio_most = fmax(facts->ratio_most, most * samples);
    }
    facts->is_per_rank = facts->is_per_rank && is_near(least * mine, 1) && is_near(most * mine, 1);
    facts->is_per_micro_batch =
        facts->is_per_micro_batch && is_near(least, means.least) && is_near(most, means.most);
}

void weights_measure(struct doctor *doctor)
{
    struct weights_facts *facts = &doctor->facts.weights;
    size_t steps = casebook_steps(doctor->book);
    *facts =
        (struct weights_facts){.is_right = true, .is_per_rank = true, .is_per_micro_batch = true};
    for (size_t k = 0; k < steps; k++)
        for (size_t rank = 0; rank < doctor->book->world; rank++)
            measure_step(doctor, rank, doctor_step(doctor, rank, k));
}

static void decide(const struct weights_facts *facts, struct finding *finding)
{
    if (facts->ratio_most - facts->ratio_least <= TOLERANCE * facts->ratio_most)
        finding_deciding(finding,
                         "a sample's weight times the samples of the update, which must be 1: it "
                         "is %.4g at step "
                         "%zu",
                         facts->ratio_most, facts->step);
    else
        finding_deciding(finding,
                         "a sample's weight times the samples of the update, which must be 1: it "
                         "is %.4g for some "
                         "samples and %.4g for others at step %zu",
                         facts->ratio_least, facts->ratio_most, facts->step);
}

void weights_explain(struct doctor *doctor)
{
    const struct weights_facts *facts = &doctor->facts.weights;
    struct finding *finding;
    if (facts->steps == 0)
        return;
    if (facts->is_right) {
        diagnosis_looked(doctor->diagnosis, "weights",
                         "every sample counts 1 / (samples of its update), %zu times",
                         facts->steps);
        return;
    }
    if (facts->is_per_rank && doctor->book->world > 1) {
        finding = diagnosis_member(doctor->diagnosis, ZOO_SUM_NOT_MEAN, CERTAIN);
        finding_evidence(finding,
                         "every rank weighs its samples by 1 / (its own samples), in all of %zu "
                         "steps and ranks: the "
                         "gradient is %zu times too large",
                         facts->steps, doctor->book->world);
    } else if (facts->is_per_micro_batch) {
        finding = diagnosis_member(doctor->diagnosis, ZOO_LAST_BATCH_UNWEIGHTED, CERTAIN);
        finding_evidence(finding,
                         "every micro-batch and rank counts alike, whatever its samples, in all of "
                         "%zu steps and "
                         "ranks",
                         facts->steps);
    } else {
        finding = diagnosis_other(
            doctor->diagnosis, "wrong-weights",
            "samples do not count alike in the gradient, for no reason that is known here",
            "weight each sample by 1 / (samples of the update)");
    }
    decide(facts, finding);
}
