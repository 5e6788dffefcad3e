/*
 * masks: do ranks leave out different units? A mask belongs to a sample; one that belongs to the row in which a rank happens to
 * have the sample is the same on all ranks.
 *
 * Rank 0 tells nothing: with --no-shuffle its rows are the samples of the same numbers. And where nearly all units take part,
 * or there are few, masks are equal by chance; so the chance that all are is computed, too.
 *
 * A record has a hash of which units of the first hidden layer took part in a step's first rows. What it would be by row is
 * computed here once more, by the formula of lesson01_single/dropout.h with the row in the sample's place.
 */
#include "common/doctor/doctor.h"
#include "common/rng.h"
#include "common/sketch.h"
#include "common/slice.h"

#include <math.h>

enum { ROWS_MOST = 8, WORDS = 4, STEP_BITS = 23 };
static const double UNLIKELY = -13.8; // the logarithm of a millionth

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of a rank's first micro-batch. */
static size_t first_rows(const struct doctor *doctor, size_t rank, const struct case_step *step)
{
    const struct sampling *sampling = &doctor->facts.samples.sampling;
    size_t world = doctor->book->world, batch = doctor->book->options.batch;
    if (sampling->own_batch && __builtin_mul_overflow(batch, world, &batch))
        batch = SIZE_MAX;
    return slice_of(smaller(batch, step->samples), world, sampling->first_share ? 0 : rank).count;
}

static uint64_t mask_by_row(const struct options *options, const struct case_step *step,
                            size_t rows)
{
    uint32_t words[WORDS];
    uint64_t hash = 0;
    for (size_t row = 0; row < smaller(rows, ROWS_MOST); row++) {
        struct rng rng = {.seed = options->seed, .stream = RNG_DROPOUT, .sub = (uint32_t)row};
        for (size_t unit = 0; unit < options->hidden[0]; unit++) {
            if (unit % WORDS == 0)
                rng_block(&rng, (uint64_t)step->step << STEP_BITS | unit / WORDS, words);
            float uniform = (float)(words[unit % WORDS] >> 8) * 0x1p-24f;
            if (uniform >= (float)options->dropout)
                hash += sketch_mix((uint64_t)(row + 1) << 32 | unit);
        }
    }
    return hash;
}

/* The logarithm of the chance that two masks are one: every unit takes part in both, or in none. */
static double chance_of(const struct options *options, size_t rows)
{
    double out = options->dropout, same = out * out + (1 - out) * (1 - out);
    return (double)smaller(rows, ROWS_MOST) * (double)options->hidden[0] * log(same);
}

static void measure_mask(struct doctor *doctor, size_t rank, const struct case_step *step)
{
    const struct options *options = casebook_options(doctor->book, step->step);
    struct masks_facts *facts = &doctor->facts.masks;
    size_t rows = first_rows(doctor, rank, step);
    if (!step->look || !step->look->dropout_mask.there || options->hidden_count == 0 || rows == 0)
        return;
    bool by_row = step->look->dropout_mask.bits == mask_by_row(options, step, rows);
    facts->looks++;
    facts->by_row += by_row;
    facts->chance += chance_of(options, rows);
    facts->step = by_row && facts->step == NOWHERE ? step->step : facts->step;
}

void masks_measure(struct doctor *doctor)
{
    size_t steps = casebook_steps(doctor->book);
    doctor->facts.masks.step = NOWHERE;
    for (size_t k = 0; k < steps; k++)
        for (size_t rank = 1; rank < doctor->book->world; rank++)
            measure_mask(doctor, rank, doctor_step(doctor, rank, k));
}

void masks_explain(struct doctor *doctor)
{
    const struct masks_facts *facts = &doctor->facts.masks;
    if (facts->looks == 0)
        return;
    if (facts->by_row < facts->looks || facts->chance > UNLIKELY) {
        diagnosis_looked(doctor->diagnosis, "dropout", "masks of %zu steps and ranks: %s",
                         facts->looks,
                         facts->by_row < facts->looks
                             ? "drawn by sample, not by row"
                             : "too few units are left out to tell whether by sample or by row");
        return;
    }
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_SAME_DROPOUT,
                                               facts->chance < 2 * UNLIKELY ? CERTAIN : STRONG);
    finding_deciding(finding,
                     "which units took part in a step's first rows, computed again with the row in "
                     "the sample's place: at all %zu "
                     "steps and ranks but rank 0's it is just that, first at step %zu",
                     facts->looks, facts->step);
}
