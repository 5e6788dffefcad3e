/*
 * samples: did every rank see the samples it should have seen?
 *
 * Which those are follows from the options: common/sampler.h computes it here once more. Where the record says
 * otherwise, five well-known mistakes, alone and together, are tried in the sampler's place, and the one that gives
 * every step of every rank exactly is what was done. A step is told by its number of samples and by a sum of hashes
 * of their indices, which does not depend on their order.
 */
#include "common/doctor/doctor.h"
#include "common/sampler.h"
#include "common/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES_MOST = 1 << 22, SAMPLINGS = 1 << 5 }; // a larger data set is not gone through again

static struct sampling sampling_of(unsigned bits)
{
    return (struct sampling){.first_order = bits & 1,
                             .first_share = bits & 2,
                             .own_seed = bits & 4,
                             .own_batch = bits & 8,
                             .restarts = bits & 16};
}

/* Can it be told from what was asked for, in this run? */
static bool is_possible(const struct casebook *book, const struct sampling *sampling)
{
    const struct case_rank *first = &book->ranks[0];
    bool resumed = first->starts[first->start_count - 1].first > 0;
    bool ranks = book->world > 1, shuffled = book->options.shuffle;
    if ((sampling->first_share || sampling->own_seed || sampling->own_batch) && !ranks)
        return false;
    if ((sampling->first_order || sampling->own_seed) && !shuffled)
        return false;
    return !sampling->restarts || resumed;
}

/* One rank's sampler under some mistakes. */
struct replayed {
    const struct casebook *book;
    struct sampling sampling;
    struct sampler sampler;
    size_t rank;
};

static int replayed_init(struct replayed *replayed, const struct casebook *book,
                         struct sampling sampling, size_t rank, struct fail *fail)
{
    struct options options = book->options;
    *replayed = (struct replayed){.book = book, .sampling = sampling, .rank = rank};
    options.steps = options.epochs = 1; // of no consequence here
    options.seed += sampling.own_seed ? rank : 0;
    if (sampling.own_batch && __builtin_mul_overflow(options.batch, book->world, &options.batch))
        options.batch = SIZE_MAX;
    return sampler_init(&replayed->sampler, book->train_samples, &options, NULL, fail);
}

/* A process that restarts does so for the epoch it goes on in; what comes at the end of that is not reached. */
static struct step step_of(const struct replayed *replayed, size_t index)
{
    const struct sampler *sampler = &replayed->sampler;
    const struct case_rank *first = &replayed->book->ranks[0];
    size_t began = first->starts[casebook_process(replayed->book, index)].first;
    size_t per_epoch = sampler->steps_per_epoch;
    bool restarts = replayed->sampling.restarts && index / per_epoch == began / per_epoch;
    return sampler_step(sampler, restarts ? index - began % per_epoch : index);
}

static const uint32_t *order_of(struct replayed *replayed, const struct step *step)
{
    return sampler_order(&replayed->sampler, replayed->sampling.first_order ? 0 : step->epoch);
}

/* A rank's samples of a micro-batch: positions in the order. */
static struct slice share_of(const struct replayed *replayed, const struct step *step, size_t m)
{
    size_t rank = replayed->sampling.first_share ? 0 : replayed->rank;
    return sampler_share(&replayed->sampler, step, m, replayed->book->world, rank);
}

/* Numbers first: an order is only drawn where they are right. */
static bool gives(struct replayed *replayed, const struct case_step *found)
{
    struct step step = step_of(replayed, found->step);
    size_t micro_batches = sampler_micro_batches(&replayed->sampler, &step), count = 0;
    uint64_t seen = 0;
    for (size_t m = 0; m < micro_batches; m++)
        count += share_of(replayed, &step, m).count;
    if (found->samples != step.samples.count || found->samples_local != count)
        return false;
    const uint32_t *order = order_of(replayed, &step);
    for (size_t m = 0; m < micro_batches; m++) {
        struct slice share = share_of(replayed, &step, m);
        for (size_t i = 0; i < share.count; i++)
            seen += sketch_mix((uint64_t)order[share.begin + i] + 1);
    }
    return found->seen == seen;
}

/* The first step at which a rank's record is not what `sampling` gives; NOWHERE: it is. Or -ENOMEM. */
static int first_wrong(struct doctor *doctor, struct sampling sampling, size_t rank, size_t *wrong,
                       struct fail *fail)
{
    struct replayed replayed;
    size_t steps = casebook_steps(doctor->book);
    struct fail refused = {0};
    int error = replayed_init(&replayed, doctor->book, sampling, rank, &refused);
    *wrong = 0;
    if (error == -ENOMEM)
        return fail_set(fail, error, "%s", refused.text);
    if (error) // there is no such sampler: nothing was drawn by it
        return 0;
    while (*wrong < steps && gives(&replayed, doctor_step(doctor, rank, *wrong)))
        *wrong += 1;
    sampler_release(&replayed.sampler);
    *wrong = *wrong == steps ? NOWHERE : *wrong;
    return 0;
}

/* Of all ranks. */
static int try_sampling(struct doctor *doctor, struct sampling sampling, bool *holds,
                        struct fail *fail)
{
    struct samples_facts *facts = &doctor->facts.samples;
    int error = 0;
    *holds = true;
    for (size_t rank = 0; rank < doctor->book->world && *holds && !error; rank++) {
        size_t wrong = 0;
        error = first_wrong(doctor, sampling, rank, &wrong, fail);
        *holds = !error && wrong == NOWHERE;
        if (!*holds && facts->wrong_step == NOWHERE) { // of the first, which is as it should be
            facts->wrong_step = wrong;
            facts->wrong_rank = rank;
        }
    }
    return error;
}

/* --- how often was each sample seen --------------------------------------------------------------- */

static void count_step(struct replayed *replayed, const struct case_step *found, uint8_t *counts)
{
    struct step step = step_of(replayed, found->step);
    const uint32_t *order = order_of(replayed, &step);
    size_t micro_batches = sampler_micro_batches(&replayed->sampler, &step);
    for (size_t m = 0; m < micro_batches; m++) {
        struct slice share = share_of(replayed, &step, m);
        for (size_t i = 0; i < share.count; i++) {
            uint8_t *count = &counts[order[share.begin + i]];
            *count += *count < UINT8_MAX;
        }
    }
}

static int count_rank(struct doctor *doctor, size_t rank, uint8_t *counts, struct fail *fail)
{
    const struct samples_facts *facts = &doctor->facts.samples;
    size_t steps = casebook_steps(doctor->book);
    struct replayed replayed;
    int error = replayed_init(&replayed, doctor->book, facts->sampling, rank, fail);
    if (error)
        return error;
    for (size_t k = 0; k < steps; k++) {
        const struct case_step *step = doctor_step(doctor, rank, k);
        if (step->step / replayed.sampler.steps_per_epoch == facts->coverage.epoch)
            count_step(&replayed, step, counts);
    }
    sampler_release(&replayed.sampler);
    return 0;
}

static int count_coverage(struct doctor *doctor, struct fail *fail)
{
    struct coverage *coverage = &doctor->facts.samples.coverage;
    size_t samples = doctor->book->train_samples;
    uint8_t *counts = calloc(samples, 1);
    int error = counts ? 0 : fail_set(fail, -ENOMEM, "no memory to count %zu samples", samples);
    for (size_t rank = 0; rank < doctor->book->world && !error; rank++)
        error = count_rank(doctor, rank, counts, fail);
    for (size_t i = 0; i < samples && !error; i++) {
        coverage->never += counts[i] == 0;
        coverage->once += counts[i] == 1;
        coverage->twice += counts[i] > 1;
    }
    free(counts);
    return error;
}

/* The first epoch that is recorded from its first step to its last; or, of a resumed run, the one it goes on in. */
static void choose_epoch(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    struct samples_facts *facts = &doctor->facts.samples;
    const struct case_rank *first = &book->ranks[0];
    size_t steps = casebook_steps(book);
    size_t per_epoch = book->steps_per_epoch;
    size_t begin = steps > 0 ? first->steps[0].step : 0, end = begin + steps;
    size_t resumed = first->starts[first->start_count - 1].first;
    size_t epoch =
        facts->sampling.restarts ? resumed / per_epoch : (begin + per_epoch - 1) / per_epoch;
    facts->coverage.epoch = epoch;
    facts->is_covered = begin <= epoch * per_epoch && end >= (epoch + 1) * per_epoch;
    facts->whole_epochs = facts->is_covered ? end / per_epoch - epoch : 0;
}

/* --- facts --------------------------------------------------------------------------------------- */

/* Epochs' orders by their hashes: no sampler is needed for that. */
static void compare_orders(struct doctor *doctor)
{
    const struct case_rank *first = &doctor->book->ranks[0];
    struct samples_facts *facts = &doctor->facts.samples;
    for (size_t i = 1; i < first->epoch_count; i++) {
        bool same = first->epochs[i].order == first->epochs[0].order;
        if (first->epochs[i].epoch == first->epochs[0].epoch)
            continue; // a run that was stopped and resumed in it
        facts->same_orders += same;
        facts->differing_orders += !same;
    }
}

int samples_measure(struct doctor *doctor, struct fail *fail)
{
    const struct casebook *book = doctor->book;
    struct samples_facts *facts = &doctor->facts.samples;
    int error = 0;
    facts->wrong_step = NOWHERE;
    facts->checked = casebook_steps(book) * book->world;
    compare_orders(doctor);
    facts->is_measured = book->train_samples <= SAMPLES_MOST && facts->checked > 0;
    for (unsigned bits = 0; bits < SAMPLINGS && facts->is_measured && !facts->explained && !error;
         bits++) {
        struct sampling sampling = sampling_of(bits);
        if (!is_possible(book, &sampling))
            continue;
        error = try_sampling(doctor, sampling, &facts->explained, fail);
        facts->sampling = facts->explained ? sampling : facts->sampling;
    }
    if (!facts->explained || error)
        return error;
    choose_epoch(doctor);
    return facts->is_covered ? count_coverage(doctor, fail) : 0;
}
