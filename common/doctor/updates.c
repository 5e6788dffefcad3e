/*
 * updates: did every rank make the same update? Who updated, by which factor was clipped, what decayed, what state there
 * was after a resume, and from which step on parameters differ.
 */
#include "common/doctor/doctor.h"

#include <inttypes.h>
#include <math.h>

/* --- facts --------------------------------------------------------------------------------------- */

/* Is it a step that all ranks may leave out? Else a run stops there. */
static bool may_skip(const struct casebook *book, size_t step)
{
    const struct options *options = casebook_options(book, step);
    return options->on_nonfinite == NONFINITE_SKIP || options->precision != PRECISION_FP32;
}

static void measure_skips(struct doctor *doctor, size_t k)
{
    struct updates_facts *facts = &doctor->facts.updates;
    size_t world = doctor->book->world, made = 0;
    for (size_t rank = 0; rank < world; rank++)
        made += doctor_step(doctor, rank, k)->updated;
    bool alike =
        made == world || (made == 0 && may_skip(doctor->book, doctor_step(doctor, 0, k)->step));
    if (alike || facts->skip_step != NOWHERE)
        return;
    facts->skips_all = made == 0;
    for (size_t rank = world; rank-- > 0;)
        if (!doctor_step(doctor, rank, k)->updated)
            facts->skip_rank = rank;
    facts->skip_step = doctor_step(doctor, 0, k)->step;
    facts->skip_nonfinite = doctor_step(doctor, facts->skip_rank, k)->nonfinite;
}

/* Of the factors and the norms that ranks had at a step, the least and the largest; NaN counts for nothing. */
static void measure_clips(struct doctor *doctor, size_t k)
{
    struct updates_facts *facts = &doctor->facts.updates;
    double least = INFINITY, most = 0, norm_least = INFINITY, norm_most = 0;
    for (size_t rank = 0; rank < doctor->book->world; rank++) {
        const struct case_step *step = doctor_step(doctor, rank, k);
        least = fmin(least, step->clip);
        most = fmax(most, step->clip);
        norm_least = fmin(norm_least, step->grad_norm);
        norm_most = fmax(norm_most, step->grad_norm);
    }
    facts->clipped += most < 1 && most > 0;
    if (least < most && facts->clip_step == NOWHERE) {
        facts->clip_step = doctor_step(doctor, 0, k)->step;
        facts->clip_least = least;
        facts->clip_most = most;
    }
    if (norm_least < norm_most && facts->norm_step == NOWHERE) {
        facts->norm_step = doctor_step(doctor, 0, k)->step;
        facts->norm_least = norm_least;
        facts->norm_most = norm_most;
    }
}

/* Of all ranks where each has a part. The optimizer takes the decay as a float, in which a small one is 0. */
static void measure_decay(struct doctor *doctor, size_t k)
{
    struct updates_facts *facts = &doctor->facts.updates;
    const struct casebook *book = doctor->book;
    size_t decayed = 0, ranks = doctor_owns_all(book) ? 1 : book->world;
    size_t number = doctor_step(doctor, 0, k)->step;
    const struct case_start *start = &book->ranks[0].starts[casebook_process(book, number)];
    if (!doctor_looked(book, k) || (float)start->asked.weight_decay == 0)
        return;
    for (size_t rank = 0; rank < ranks; rank++)
        decayed += doctor_step(doctor, rank, k)->look->decayed;
    facts->decay_looks++;
    if (facts->decay_step != NOWHERE)
        return;
    facts->decaying = start->decaying;
    facts->trained = start->trained;
    if (decayed == facts->decaying)
        return;
    facts->decay_step = number;
    facts->decayed = decayed;
}

static void measure_drift(struct doctor *doctor, size_t k)
{
    struct updates_facts *facts = &doctor->facts.updates;
    const struct case_look *first = doctor_step(doctor, 0, k)->look;
    bool known = first && first->param_hash.there, differ = false;
    for (size_t rank = 1; rank < doctor->book->world && known; rank++) {
        const struct case_look *look = doctor_step(doctor, rank, k)->look;
        known = look && look->param_hash.there;
        differ = differ || (known && look->param_hash.bits != first->param_hash.bits);
    }
    facts->looks += known;
    if (differ && facts->drift_step == NOWHERE)
        facts->drift_step = doctor_step(doctor, 0, k)->step;
}

/* Has an update before that step had a gradient? If the record does not tell: nobody skips all of them. */
static bool has_moved(const struct casebook *book, size_t first)
{
    size_t steps = casebook_steps(book), before = 0;
    for (; before < steps && book->ranks[0].steps[before].step < first; before++)
        for (size_t rank = 0; rank < book->world; rank++) {
            const struct case_step *step = &book->ranks[rank].steps[before];
            for (size_t i = 0; step->updated && step->look && i < book->tensor_count; i++)
                if (step->look->reduced[i].squares > 0)
                    return true;
        }
    return before == 0;
}

/* Of a process that goes on: has it the state that those before must have left? On all ranks together: a part may be all
 * zero. */
static void measure_state(struct doctor *doctor)
{
    struct updates_facts *facts = &doctor->facts.updates;
    const struct casebook *book = doctor->book;
    for (size_t i = 0; i < book->ranks[0].start_count; i++) {
        double norm = 0;
        size_t first = book->ranks[0].starts[i].first;
        for (size_t rank = 0; rank < book->world; rank++)
            norm += book->ranks[rank].starts[i].state_norm;
        facts->resumed += first > 0;
        if (first > 0 && norm == 0 && facts->no_state_step == NOWHERE && has_moved(book, first))
            facts->no_state_step = first;
    }
}

void updates_measure(struct doctor *doctor)
{
    struct updates_facts *facts = &doctor->facts.updates;
    size_t steps = casebook_steps(doctor->book);
    facts->skip_step = facts->clip_step = facts->norm_step = facts->decay_step = NOWHERE;
    facts->no_state_step = facts->drift_step = NOWHERE;
    for (size_t k = 0; k < steps; k++) {
        measure_skips(doctor, k);
        measure_clips(doctor, k);
        measure_decay(doctor, k);
        measure_drift(doctor, k);
    }
    measure_state(doctor);
}

/* --- what they mean ------------------------------------------------------------------------------ */

static void explain_skip(struct doctor *doctor)
{
    const struct updates_facts *facts = &doctor->facts.updates;
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_SKIP_ONE_RANK, CERTAIN);
    if (facts->skip_nonfinite)
        finding_evidence(finding,
                         "rank %zu's own gradient was not finite at step %zu: look at its samples",
                         facts->skip_rank, facts->skip_step);
    if (facts->drift_step != NOWHERE)
        finding_evidence(finding, "parameters differ between ranks in step %zu and later",
                         facts->drift_step);
    if (facts->skips_all)
        finding_deciding(finding,
                         "who makes an update: at step %zu no rank did, and --on-nonfinite stop "
                         "should have ended the run "
                         "there",
                         facts->skip_step);
    else
        finding_deciding(finding,
                         "who makes an update, which must be all ranks or none: at step %zu rank "
                         "%zu made none and others "
                         "did",
                         facts->skip_step, facts->skip_rank);
}

/* All ranks clip by one norm, that of the whole gradient. Where each has its own gradient, that is another mistake's. */
static bool explain_clips(struct doctor *doctor)
{
    const struct updates_facts *facts = &doctor->facts.updates;
    bool differ = facts->clip_step != NOWHERE || facts->norm_step != NOWHERE;
    if (!differ || doctor_owns_all(doctor->book) || !doctor_clips(doctor->book))
        return false;
    struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_CLIP_PER_SHARD, CERTAIN);
    if (facts->clip_step != NOWHERE)
        finding_evidence(finding, "at step %zu ranks clipped by factors from %.4g to %.4g",
                         facts->clip_step, facts->clip_least, facts->clip_most);
    if (facts->norm_step != NOWHERE)
        finding_deciding(finding,
                         "the norm that ranks clip by, which must be the whole gradient's on all "
                         "of them: at step %zu it is "
                         "from %.4g to %.4g",
                         facts->norm_step, facts->norm_least, facts->norm_most);
    else
        finding_deciding(finding,
                         "the factor gradients are clipped by, which must be one on all ranks");
    return true;
}

static void explain_decay(struct doctor *doctor)
{
    const struct updates_facts *facts = &doctor->facts.updates;
    struct finding *finding;
    if (facts->decayed == facts->trained)
        finding = diagnosis_member(doctor->diagnosis, ZOO_DECAY_BIASES, CERTAIN);
    else
        finding = diagnosis_other(doctor->diagnosis, "wrong-decay",
                                  "weight decay takes other parameters than the weights",
                                  "decay for weights, none for biases and frozen tensors");
    finding_deciding(finding,
                     "how many parameters decayed at step %zu: %zu; there are %zu weights to "
                     "train, and %zu parameters "
                     "with the biases",
                     facts->decay_step, facts->decayed, facts->decaying, facts->trained);
}

static void explain_state(struct doctor *doctor)
{
    struct finding *finding =
        diagnosis_member(doctor->diagnosis, ZOO_RESUME_WITHOUT_MOMENTUM, CERTAIN);
    finding_deciding(finding,
                     "the norm of the optimizer's state where the run goes on, before step %zu: it "
                     "is 0 on every rank; "
                     "after %zu updates it cannot be",
                     doctor->facts.updates.no_state_step, doctor->facts.updates.no_state_step);
}

void updates_explain(struct doctor *doctor)
{
    const struct updates_facts *facts = &doctor->facts.updates;
    struct diagnosis *diagnosis = doctor->diagnosis;
    size_t world = doctor->book->world;
    if (facts->skip_step != NOWHERE)
        explain_skip(doctor);
    if (!explain_clips(doctor) && doctor_clips(doctor->book) && facts->clip_step == NOWHERE)
        diagnosis_looked(diagnosis, "clipping", "one factor on all ranks, below 1 at %zu steps",
                         facts->clipped);
    if (facts->decay_step != NOWHERE)
        explain_decay(doctor);
    else if (facts->decay_looks > 0)
        diagnosis_looked(diagnosis, "decay", "of the %zu weights, not of biases", facts->decaying);
    if (facts->no_state_step != NOWHERE)
        explain_state(doctor);
    else if (facts->resumed > 0)
        diagnosis_looked(diagnosis, "resume", "%zu time%s, with the optimizer's state",
                         facts->resumed, plural(facts->resumed));
    if (facts->drift_step == NOWHERE && facts->looks > 0 && world > 1)
        diagnosis_looked(diagnosis, "parameters",
                         "equal on all %zu ranks after each of %zu steps looked at", world,
                         facts->looks);
}

/* What follows from another fault is told there. */
void drift_explain(struct doctor *doctor)
{
    static const enum zoo_member causes[] = {
        ZOO_SEED_PER_RANK, ZOO_SKIP_ONE_RANK, ZOO_SYNC_FIRST_MICROBATCH_ONLY,
        ZOO_SYNC_LAST_MICROBATCH_ONLY, ZOO_RESUME_WITHOUT_MOMENTUM};
    size_t step = doctor->facts.updates.drift_step;
    if (step == NOWHERE || doctor->facts.gradients.differ_step != NOWHERE)
        return;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (diagnosis_has(doctor->diagnosis, causes[i]))
            return;
    struct finding *finding =
        diagnosis_other(doctor->diagnosis, "replicas-differ", "ranks train different networks",
                        "run with --verify 2: the proof names the first parameter that differs");
    finding_deciding(
        finding,
        "a hash of all parameters, which must be equal on all ranks: after step %zu it is not",
        step);
}
