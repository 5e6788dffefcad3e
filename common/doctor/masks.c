/*
 * masks: do ranks leave out different units? A mask belongs to a sample; one that belongs to the row in which a rank happens to
 * have the sample is the same on all ranks.
 *
 * A record has a hash of which units of the first hidden layer took part in a step's first rows. What it would be by row is
 * computed here once more, by the formula of lesson01_single/dropout.h with the row in the sample's place.
 */
#include "common/doctor/doctor.h"
#include "common/rng.h"
#include "common/sketch.h"
#include "common/slice.h"

enum { ROWS_MOST = 8, WORDS = 4, STEP_BITS = 23 };

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

void masks_measure(struct doctor *doctor)
{
    const struct options *options = &doctor->book->options;
    struct masks_facts *facts = &doctor->facts.masks;
    size_t steps = casebook_steps(doctor->book);
    facts->step = NOWHERE;
    for (size_t k = 0; k < steps && options->dropout > 0 && options->hidden_count > 0; k++)
        for (size_t rank = 0; rank < doctor->book->world; rank++) {
            const struct case_step *step = doctor_step(doctor, rank, k);
            if (!step->look || !step->look->dropout_mask.there)
                continue;
            bool by_row = step->look->dropout_mask.bits ==
                          mask_by_row(options, step, first_rows(doctor, rank, step));
            facts->looks++;
            facts->by_row += by_row;
            facts->step = by_row && facts->step == NOWHERE ? step->step : facts->step;
        }
}

/* Few units may be left out alike by chance, but not nearly always. */
void masks_explain(struct doctor *doctor)
{
    const struct masks_facts *facts = &doctor->facts.masks;
    if (facts->looks == 0)
        return;
    if (2 * facts->by_row <= facts->looks) {
        diagnosis_looked(doctor->diagnosis, "dropout",
                         "masks of %zu steps and ranks: drawn by sample, not by row", facts->looks);
        return;
    }
    struct finding *finding =
        diagnosis_member(doctor->diagnosis, ZOO_SAME_DROPOUT, facts->looks > 2 ? CERTAIN : LIKELY);
    finding_deciding(finding,
                     "which units took part in a step's first rows, computed again with the row in "
                     "the sample's place: at %zu "
                     "of %zu steps and ranks it is just that, first at step %zu",
                     facts->by_row, facts->looks, facts->step);
}
