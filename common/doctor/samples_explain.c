/* samples_explain: what it means that ranks saw other samples than they should have. See samples.c. */
#include "common/doctor/doctor.h"

static void tell_coverage(const struct samples_facts *facts, struct finding *finding)
{
    const struct coverage *coverage = &facts->coverage;
    if (facts->is_covered)
        finding_evidence(finding,
                         "in epoch %zu, by all ranks together, %zu samples were seen once, %zu "
                         "twice or more, %zu "
                         "never",
                         coverage->epoch, coverage->once, coverage->twice, coverage->never);
}

static void explain(struct doctor *doctor, enum zoo_member member, bool found, const char *how)
{
    const struct samples_facts *facts = &doctor->facts.samples;
    if (!found)
        return;
    struct finding *finding = diagnosis_member(doctor->diagnosis, member, CERTAIN);
    if (member == ZOO_NO_SET_EPOCH && facts->same_orders > 0)
        finding_evidence(finding, "%zu of the %zu epochs after the first had the first one's order",
                         facts->same_orders, facts->same_orders + facts->differing_orders);
    if (member == ZOO_BATCH_NOT_DIVIDED)
        finding_evidence(
            finding, "--batch is %zu over all ranks, and an update of step %zu took %zu samples",
            doctor->book->options.batch, doctor_step(doctor, 0, 0)->step,
            doctor_step(doctor, 0, 0)->samples);
    else
        tell_coverage(facts, finding);
    finding_deciding(finding,
                     "the samples of every step and rank, computed again %s: all %zu are exactly "
                     "those that were "
                     "seen; with the options as given, step %zu of rank %zu is another",
                     how, facts->checked, doctor_step(doctor, 0, facts->wrong_step)->step,
                     facts->wrong_rank);
}

static void explain_unknown(struct doctor *doctor)
{
    const struct samples_facts *facts = &doctor->facts.samples;
    struct finding *finding = diagnosis_other(
        doctor->diagnosis, "wrong-samples", "ranks saw other samples than the options ask for",
        "compare the sampler with the options: seed, epoch, batch, rank and world");
    finding_deciding(finding,
                     "the samples of every step and rank, computed again from the options: step "
                     "%zu of rank %zu is "
                     "another, and no mistake that is known here gives it",
                     doctor_step(doctor, 0, facts->wrong_step)->step, facts->wrong_rank);
}

static void explain_healthy(struct doctor *doctor)
{
    const struct samples_facts *facts = &doctor->facts.samples;
    const struct coverage *coverage = &facts->coverage;
    if (facts->is_covered)
        diagnosis_looked(
            doctor->diagnosis, "samples",
            "those of %zu steps and ranks, computed again: all as they should be; in epoch %zu %zu "
            "samples were seen once, %zu twice, %zu never%s",
            facts->checked, coverage->epoch, coverage->once, coverage->twice, coverage->never,
            doctor->book->options.drop_last ? " (--drop-last)" : "");
    else
        diagnosis_looked(doctor->diagnosis, "samples",
                         "those of %zu steps and ranks, computed again: all as they should be",
                         facts->checked);
    if (facts->differing_orders > 0)
        diagnosis_looked(doctor->diagnosis, "orders",
                         "in %zu of %zu later epochs another than the first one's",
                         facts->differing_orders, facts->differing_orders + facts->same_orders);
}

void samples_explain(struct doctor *doctor)
{
    const struct samples_facts *facts = &doctor->facts.samples;
    const struct sampling *sampling = &facts->sampling;
    if (!facts->is_measured)
        return;
    if (!facts->explained) {
        explain_unknown(doctor);
        return;
    }
    explain(doctor, ZOO_NO_SET_EPOCH, sampling->first_order, "with epoch 0's order in every epoch");
    explain(doctor, ZOO_SAME_SHARD, sampling->first_share, "with rank 0's share on every rank");
    explain(doctor, ZOO_SHUFFLE_PER_RANK, sampling->own_seed,
            "with an order from seed + rank on each rank");
    explain(doctor, ZOO_BATCH_NOT_DIVIDED, sampling->own_batch,
            "with --batch samples on each rank");
    explain(doctor, ZOO_RESUME_REPEATS_DATA, sampling->restarts,
            "from the start of the epoch's order after --resume");
    if (facts->wrong_step == NOWHERE)
        explain_healthy(doctor);
}
