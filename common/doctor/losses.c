/*
 * losses: is what is reported true? The loss must be the mean over all ranks' samples, and a test set must be evaluated once.
 * Both are sums over ranks, so they are added up here once more.
 */
#include "common/doctor/doctor.h"

#include <math.h>

/* Both are sums in double, in another order, of floats' losses. */
static const double TOLERANCE = 1e-9;

static bool is_near(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * (fabs(a) + fabs(b)) + 1e-300;
}

/* Over the samples of the update, as everybody believes they are. NaN: a loss is not finite. */
static double mean_loss(const struct doctor *doctor, size_t k)
{
    double sum = 0;
    for (size_t rank = 0; rank < doctor->book->world; rank++) {
        const struct case_step *step = doctor_step(doctor, rank, k);
        if (step->nonfinite)
            return NAN;
        sum += step->samples_local > 0 ? step->loss_local * (double)step->samples_local : 0;
    }
    return sum / (double)doctor_step(doctor, 0, k)->samples;
}

static void measure_step(struct doctor *doctor, size_t k)
{
    struct losses_facts *facts = &doctor->facts.losses;
    double mean = mean_loss(doctor, k), low = INFINITY, high = -INFINITY;
    bool is_mean = true, is_own = true;
    for (size_t rank = 0; rank < doctor->book->world; rank++) {
        const struct case_step *step = doctor_step(doctor, rank, k);
        low = fmin(low, step->loss);
        high = fmax(high, step->loss);
        is_mean = is_mean && is_near(step->loss, mean);
        is_own = is_own && (step->samples_local == 0 || is_near(step->loss, step->loss_local));
    }
    if (!isfinite(mean) || !isfinite(low) || !isfinite(high))
        return;
    facts->steps++;
    if (is_mean)
        return;
    if (!is_own) {
        facts->wrong_step =
            facts->wrong_step == NOWHERE ? doctor_step(doctor, 0, k)->step : facts->wrong_step;
        return;
    }
    if (facts->own_steps++ > 0)
        return;
    facts->own_step = doctor_step(doctor, 0, k)->step;
    facts->low = low;
    facts->high = high;
    facts->mean = mean;
}

/* Epochs that all ranks have recorded. */
static void measure_evaluation(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    struct losses_facts *facts = &doctor->facts.losses;
    facts->epochs = SIZE_MAX;
    for (size_t rank = 0; rank < book->world; rank++)
        if (book->ranks[rank].epoch_count < facts->epochs)
            facts->epochs = book->ranks[rank].epoch_count;
    for (size_t i = 0; i < facts->epochs && facts->padded_epoch == NOWHERE; i++) {
        size_t evaluated = 0;
        for (size_t rank = 0; rank < book->world; rank++)
            evaluated += book->ranks[rank].epochs[i].evaluated;
        facts->evaluated = evaluated;
        facts->padded_epoch =
            evaluated != book->test_samples ? book->ranks[0].epochs[i].epoch : NOWHERE;
    }
}

void losses_measure(struct doctor *doctor)
{
    size_t steps = casebook_steps(doctor->book);
    doctor->facts.losses.wrong_step = doctor->facts.losses.padded_epoch = NOWHERE;
    for (size_t k = 0; k < steps; k++)
        measure_step(doctor, k);
    measure_evaluation(doctor);
}

static void explain_evaluation(struct doctor *doctor)
{
    const struct losses_facts *facts = &doctor->facts.losses;
    size_t world = doctor->book->world, samples = doctor->book->test_samples;
    size_t padded = (samples + world - 1) / world * world;
    struct finding *finding;
    if (facts->evaluated == padded)
        finding = diagnosis_member(doctor->diagnosis, ZOO_EVAL_PADDING_COUNTED, CERTAIN);
    else
        finding = diagnosis_other(doctor->diagnosis, "wrong-evaluation",
                                  "the ranks together did not evaluate every test sample once",
                                  "count each test sample once, on one rank");
    finding_deciding(finding,
                     "how many test samples all ranks evaluated together in epoch %zu: %zu, and "
                     "there are %zu; %zu is the "
                     "next multiple of %zu ranks",
                     facts->padded_epoch, facts->evaluated, samples, padded, world);
}

void losses_explain(struct doctor *doctor)
{
    const struct losses_facts *facts = &doctor->facts.losses;
    if (facts->own_steps > 0) {
        struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_RANK0_LOSS_ONLY, CERTAIN);
        finding_evidence(finding,
                         "at %zu of %zu steps each rank reported the loss of its own share",
                         facts->own_steps, facts->steps);
        finding_deciding(finding,
                         "the loss each rank reports, which must be the mean over all samples: at "
                         "step %zu that is %.6g, "
                         "and the ranks report %.6g to %.6g, each its own",
                         facts->own_step, facts->mean, facts->low, facts->high);
    } else if (facts->wrong_step != NOWHERE) {
        struct finding *finding =
            diagnosis_other(doctor->diagnosis, "wrong-loss",
                            "the loss that is reported is not the mean over all samples",
                            "sum losses and samples over all ranks, then divide");
        finding_deciding(finding, "the ranks' own losses, weighted by their samples, at step %zu",
                         facts->wrong_step);
    } else if (facts->steps > 0) {
        diagnosis_looked(doctor->diagnosis, "loss", "the mean over all ranks' samples at %zu steps",
                         facts->steps);
    }
    if (facts->padded_epoch != NOWHERE)
        explain_evaluation(doctor);
    else if (facts->epochs > 0 && doctor->book->test_samples > 0)
        diagnosis_looked(doctor->diagnosis, "evaluation",
                         "every one of %zu test samples once, %zu times",
                         doctor->book->test_samples, facts->epochs);
}
