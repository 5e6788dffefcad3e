/*
 * masks: do ranks leave out different units? Each draws its masks by its samples, and no two ranks have the same ones. A
 * record has a hash of the first rows' masks, so two ranks that have as many rows can be compared.
 */
#include "common/doctor/doctor.h"

/* Are those of two ranks comparable at this step? */
static bool both_drew(const struct case_step *a, const struct case_step *b)
{
    return a->look && b->look && a->look->dropout_mask.there && b->look->dropout_mask.there &&
           a->samples_local > 0 && b->samples_local > 0;
}

void masks_measure(struct doctor *doctor)
{
    struct masks_facts *facts = &doctor->facts.masks;
    size_t steps = casebook_steps(doctor->book);
    facts->step = NOWHERE;
    for (size_t k = 0; k < steps && doctor->book->options.dropout > 0; k++)
        for (size_t rank = 1; rank < doctor->book->world; rank++) {
            const struct case_step *first = doctor_step(doctor, 0, k),
                                   *step = doctor_step(doctor, rank, k);
            if (!both_drew(first, step))
                continue;
            bool equal = step->look->dropout_mask.bits == first->look->dropout_mask.bits;
            facts->looks++;
            facts->equal += equal;
            facts->step = equal && facts->step == NOWHERE ? step->step : facts->step;
        }
}

/* The same samples have the same masks; and few units may be left out alike by chance, but not nearly always. */
void masks_explain(struct doctor *doctor)
{
    const struct masks_facts *facts = &doctor->facts.masks;
    if (facts->looks == 0)
        return;
    if (doctor->facts.samples.sampling.first_share || 2 * facts->equal <= facts->looks) {
        verdict_looked(doctor->verdict, "dropout", "masks of two ranks, at %zu looks: equal at %zu",
                       facts->looks, facts->equal);
        return;
    }
    struct finding *finding =
        verdict_member(doctor->verdict, ZOO_SAME_DROPOUT, facts->looks > 2 ? CERTAIN : LIKELY);
    finding_deciding(finding,
                     "a hash of the masks of a step's first rows, which must differ between ranks: "
                     "it is equal at %zu of %zu "
                     "looks at two ranks, first at step %zu",
                     facts->equal, facts->looks, facts->step);
}
