/* gradients_explain: what it means that the reduced gradient is not the sum of the ranks' own ones. See gradients.c. */
#include "common/doctor/doctor.h"

static void tell_sum(const struct doctor *doctor, struct finding *finding)
{
    const struct gradients_facts *facts = &doctor->facts.gradients;
    if (facts->wrong_step == NOWHERE)
        return;
    finding_evidence(finding,
                     "a sketch of %s's gradient at step %zu: %.6g after the reduction, %.6g as the "
                     "sum of the ranks' "
                     "own ones, may differ by %.2g",
                     doctor->book->tensors[facts->wrong_tensor].name, facts->wrong_step,
                     facts->found, facts->expected, facts->bound);
}

static void explain_sync(struct doctor *doctor)
{
    const struct gradients_facts *facts = &doctor->facts.gradients;
    struct finding *finding;
    if (facts->early_step != NOWHERE) {
        finding = diagnosis_member(doctor->diagnosis, ZOO_SYNC_FIRST_MICROBATCH_ONLY, CERTAIN);
        if (facts->differ_step != NOWHERE)
            finding_evidence(
                finding,
                "from step %zu on the optimizers of two ranks were given different gradients",
                facts->differ_step);
        finding_deciding(finding,
                         "the micro-batch in which gradients are handed over to be reduced: it "
                         "must be the last, and is "
                         "number %zu of %zu at step %zu",
                         facts->handed_over, facts->micro_batches, facts->early_step);
        return;
    }
    bool sure = facts->differ_step != NOWHERE;
    finding =
        diagnosis_member(doctor->diagnosis, ZOO_SYNC_LAST_MICROBATCH_ONLY, sure ? CERTAIN : STRONG);
    tell_sum(doctor, finding);
    if (sure)
        finding_deciding(
            finding,
            "what the optimizers are given after the reduction, which must be equal on all ranks: "
            "it is not "
            "from step %zu on, with several micro-batches, handed over in the last one",
            facts->differ_step);
    else
        finding_deciding(
            finding, "the sum of the ranks' gradients as they were handed over in the last "
                     "micro-batch: it is not what "
                     "the optimizers were given, nor is what any other known mistake makes of it");
}

static void explain_clip(struct doctor *doctor)
{
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_CLIP_BEFORE_REDUCE, CERTAIN);
    tell_sum(doctor, finding);
    finding_deciding(finding,
                     "the sum of the ranks' gradients, each clipped to %g by its own norm before: "
                     "that is what the "
                     "optimizers were given, for every tensor at %zu steps",
                     casebook_options(doctor->book, doctor->facts.gradients.wrong_step)->clip,
                     doctor->facts.gradients.looks);
}

static void explain_stale(struct doctor *doctor)
{
    const struct gradients_facts *facts = &doctor->facts.gradients;
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_STALE_BUCKET, CERTAIN);
    size_t first = 0;
    while (!facts->stale[first])
        first++;
    tell_sum(doctor, finding);
    finding_deciding(finding,
                     "the sum of the ranks' gradients of the step before: that is what the "
                     "optimizers were given of %s "
                     "and %zu more tensor%s, and not that of the step itself",
                     doctor->book->tensors[first].name, facts->stale_count - 1,
                     plural(facts->stale_count - 1));
}

static void explain_twice(struct doctor *doctor)
{
    size_t world = doctor->book->world;
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_MEAN_TWICE, CERTAIN);
    tell_sum(doctor, finding);
    finding_deciding(finding,
                     "the reduced gradient times %zu: that is the sum of the ranks' own ones, for "
                     "every tensor at %zu "
                     "steps; each sample was divided by all samples before",
                     world, doctor->facts.gradients.looks);
}

static void explain_unknown(struct doctor *doctor)
{
    struct finding *finding =
        diagnosis_other(doctor->diagnosis, "wrong-gradient",
                        "the reduced gradient is not the sum of the ranks' own ones, for no reason "
                        "that is known here",
                        "run with --verify 2: the proof names the first element that is wrong");
    tell_sum(doctor, finding);
    finding_deciding(finding,
                     "sketches of the gradients before and after the reduction, tensor by tensor");
}

static void explain_law(struct doctor *doctor)
{
    const struct gradients_facts *facts = &doctor->facts.gradients;
    if (facts->law.divided)
        explain_twice(doctor);
    if (facts->law.own != CLIP_NONE)
        explain_clip(doctor);
    if (facts->stale_count > 0)
        explain_stale(doctor);
}

void gradients_explain(struct doctor *doctor)
{
    const struct gradients_facts *facts = &doctor->facts.gradients;
    if (facts->sync)
        explain_sync(doctor);
    if (facts->explained)
        explain_law(doctor);
    else if (facts->looks > 0 && !facts->sync)
        explain_unknown(doctor);
    if (facts->looks > 0 && facts->wrong_step == NOWHERE && !facts->sync && doctor->book->world > 1)
        diagnosis_looked(doctor->diagnosis, "gradients",
                         "the sum of the ranks' own ones, for %zu tensors at %zu steps, to %.2g of "
                         "what rounding allows",
                         doctor->book->tensor_count, facts->looks, facts->worst_share);
}
