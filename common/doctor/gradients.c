/*
 * gradients: is the reduced gradient the sum of the ranks' own ones?
 *
 *     reduced = raw of rank 0 + raw of rank 1 + ...
 *
 * A record has no gradients, but a sketch of each tensor's, which adds up as they do: sketch.h. So the sum is tested
 * tensor by tensor, also where each rank is given a part only, and where it does not hold, the laws of known mistakes
 * are: divided by N once more, each rank clipped before, a bucket that is of the step before.
 *
 * The tolerance. An element of a float sum of N terms is off by at most N u (|x0| + |x1| + ...), u = 2^-24. A sketch adds
 * these errors with random signs; by Hoeffding's inequality it is off by more than 8 times the root of their squares' sum,
 * which is at most N u (norm of raw 0 + norm of raw 1 + ...), once in 10^13.
 */
#include "common/doctor/doctor.h"

#include <math.h>

enum { FEEDBACK_STEPS = 64 }; // back to which gradients are looked at that may have been kept back
static const double DEVIATIONS = 8, FLOAT_UNIT = 0x1p-24, HALF_UNIT = 0x1p-9, SMALLEST = 1e-36;

static const struct case_look *look_of(const struct doctor *doctor, size_t rank, size_t k)
{
    return doctor_step(doctor, rank, k)->look;
}

/* What all ranks' optimizers were given of a tensor. */
static double found_sum(const struct doctor *doctor, size_t k, size_t tensor)
{
    double sum = 0;
    if (doctor_owns_all(doctor->book))
        return look_of(doctor, 0, k)->reduced[tensor].sum;
    for (size_t rank = 0; rank < doctor->book->world; rank++)
        sum += look_of(doctor, rank, k)->reduced[tensor].sum;
    return sum;
}

/* What a rank's gradient is multiplied by before the sum. Its own mean is over its own samples, where what it recorded
 * is divided by all ranks'. */
static double own_factor(const struct doctor *doctor, struct gradient_law law, size_t k,
                         size_t rank)
{
    const struct case_step *step = doctor_step(doctor, rank, k);
    double squares = 0, most = casebook_options(doctor->book, step->step)->clip;
    if (law.own == CLIP_NONE || most == 0 || step->samples_local == 0)
        return 1;
    for (size_t tensor = 0; tensor < doctor->book->tensor_count; tensor++)
        squares += step->look->raw[tensor].squares;
    double norm = sqrt(squares);
    if (law.own == CLIP_OWN_MEAN)
        norm *= (double)step->samples / (double)step->samples_local;
    return fmin(1, most / (norm + 1e-6)); // as in torch.nn.utils.clip_grad_norm_
}

static double expected_sum(const struct doctor *doctor, struct gradient_law law, size_t k,
                           size_t tensor)
{
    double sum = 0;
    for (size_t rank = 0; rank < doctor->book->world; rank++)
        sum += own_factor(doctor, law, k, rank) * look_of(doctor, rank, k)->raw[tensor].sum;
    return law.divided ? sum / (double)doctor->book->world : sum;
}

static double norms(const struct doctor *doctor, size_t k, size_t tensor)
{
    double sum = 0;
    for (size_t rank = 0; rank < doctor->book->world; rank++)
        sum += sqrt(look_of(doctor, rank, k)->raw[tensor].squares);
    return sum;
}

/* Compressed gradients are rounded on both ways; with error feedback what was kept back the step before comes on top,
 * and that is at most as much again, of gradients that may have been larger. */
static double bound_of(const struct doctor *doctor, size_t k, size_t tensor)
{
    const struct options *options = casebook_options(doctor->book, doctor_step(doctor, 0, k)->step);
    double unit = FLOAT_UNIT * (double)(doctor->book->world + 2);
    double all = norms(doctor, k, tensor);
    if (options->compress == COMPRESS_BF16)
        unit += 2 * HALF_UNIT;
    if (options->error_feedback) {
        unit *= 2;
        for (size_t before = k; before-- > 0 && k - before <= FEEDBACK_STEPS;)
            all = doctor_looked(doctor->book, before) ? fmax(all, norms(doctor, before, tensor))
                                                      : all;
    }
    return DEVIATIONS * unit * all + SMALLEST;
}

/* --- laws ---------------------------------------------------------------------------------------- */

/* A step that was looked at, and of a single micro-batch where the others are another mistake's. */
static bool is_judged(const struct doctor *doctor, size_t k)
{
    return doctor_looked(doctor->book, k) &&
           (!doctor->facts.gradients.single_only || doctor_step(doctor, 0, k)->micro_batches == 1);
}

/* Does the law hold for a tensor at all looks? With the gradients of the step before, where that was looked at, too. */
static bool holds(const struct doctor *doctor, struct gradient_law law, size_t tensor, bool stale)
{
    const struct casebook *book = doctor->book;
    size_t steps = casebook_steps(book), tested = 0;
    for (size_t k = 0; k < steps; k++) {
        if (!is_judged(doctor, k) || (stale && (k == 0 || !doctor_looked(book, k - 1))))
            continue;
        size_t number = doctor_step(doctor, 0, k)->step;
        if (stale && casebook_process(book, number) != casebook_process(book, number - 1))
            continue;
        double expected = expected_sum(doctor, law, stale ? k - 1 : k, tensor);
        double bound = bound_of(doctor, k, tensor) + (stale ? bound_of(doctor, k - 1, tensor) : 0);
        if (!(fabs(found_sum(doctor, k, tensor) - expected) <= bound))
            return false;
        tested++;
    }
    return tested > 0;
}

/* For every tensor; `stale`: some may be of the step before. */
static bool explains(struct doctor *doctor, struct gradient_law law, bool stale)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    facts->stale_count = 0;
    for (size_t tensor = 0; tensor < doctor->book->tensor_count; tensor++) {
        bool fresh = holds(doctor, law, tensor, false);
        facts->stale[tensor] = !fresh;
        if (!fresh && !(stale && holds(doctor, law, tensor, true)))
            return false;
        facts->stale_count += !fresh;
    }
    return true;
}

static void find_law(struct doctor *doctor)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    bool clips = doctor_clips(doctor->book), ranks = doctor->book->world > 1;
    for (int stale = 0; stale <= (int)ranks; stale++)
        for (int own = CLIP_NONE; own <= (clips && ranks ? CLIP_OWN_SHARE : CLIP_NONE); own++)
            for (int divided = 0; divided <= (int)ranks; divided++) {
                struct gradient_law law = {.divided = divided};
                law.own = own;
                if (!explains(doctor, law, stale))
                    continue;
                facts->law = law;
                facts->explained = true;
                return;
            }
    facts->stale_count = 0;
}

/* --- facts --------------------------------------------------------------------------------------- */

/* Where the plain sum is first left, or how near its bound it comes. */
static void measure_sum(struct doctor *doctor, size_t k)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    static const struct gradient_law plain = {0};
    for (size_t tensor = 0; tensor < doctor->book->tensor_count; tensor++) {
        double found = found_sum(doctor, k, tensor), bound = bound_of(doctor, k, tensor);
        double expected = expected_sum(doctor, plain, k, tensor);
        if (fabs(found - expected) <= bound) {
            facts->worst_share = fmax(facts->worst_share, fabs(found - expected) / bound);
        } else if (facts->wrong_step == NOWHERE) {
            facts->wrong_step = doctor_step(doctor, 0, k)->step;
            facts->wrong_tensor = tensor;
            facts->found = found;
            facts->expected = expected;
            facts->bound = bound;
        }
    }
}

/* Bit for bit: a reduction gives all ranks the same. */
static bool ranks_differ(const struct doctor *doctor, size_t k)
{
    for (size_t rank = 1; rank < doctor->book->world; rank++)
        for (size_t tensor = 0; tensor < doctor->book->tensor_count; tensor++)
            if (look_of(doctor, rank, k)->reduced[tensor].sum !=
                look_of(doctor, 0, k)->reduced[tensor].sum)
                return true;
    return false;
}

static void measure_look(struct doctor *doctor, size_t k)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    const struct case_step *step = doctor_step(doctor, 0, k);
    facts->looks++;
    facts->several = facts->several || step->micro_batches > 1;
    measure_sum(doctor, k);
    if (facts->differ_step == NOWHERE && doctor_owns_all(doctor->book) && ranks_differ(doctor, k))
        facts->differ_step = step->step;
}

static void measure_handing(struct doctor *doctor, size_t k)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    for (size_t rank = 0; rank < doctor->book->world && facts->early_step == NOWHERE; rank++) {
        const struct case_step *step = doctor_step(doctor, rank, k);
        if (step->handed_over == 0 || step->handed_over >= step->micro_batches)
            continue;
        facts->early_step = step->step;
        facts->handed_over = step->handed_over;
        facts->micro_batches = step->micro_batches;
    }
}

/* Steps of a single micro-batch tell whether there is another mistake besides. If they do not obey any law, the number of
 * micro-batches is not to blame. */
static void blame_sync(struct doctor *doctor)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    size_t steps = casebook_steps(doctor->book), singles = 0;
    for (size_t k = 0; k < steps; k++)
        singles += doctor_looked(doctor->book, k) && doctor_step(doctor, 0, k)->micro_batches == 1;
    facts->law = (struct gradient_law){0};
    facts->explained = false;
    facts->single_only = singles > 0;
    if (singles > 0)
        find_law(doctor);
    facts->sync = facts->early_step != NOWHERE || singles == 0 || facts->explained;
}

void gradients_measure(struct doctor *doctor)
{
    struct gradients_facts *facts = &doctor->facts.gradients;
    size_t steps = casebook_steps(doctor->book);
    facts->differ_step = facts->early_step = facts->wrong_step = NOWHERE;
    for (size_t k = 0; k < steps; k++) {
        measure_handing(doctor, k);
        if (doctor_looked(doctor->book, k))
            measure_look(doctor, k);
    }
    if (facts->looks > 0)
        find_law(doctor);
    if (facts->early_step != NOWHERE ||
        (facts->several && (!facts->explained || facts->differ_step != NOWHERE)))
        blame_sync(doctor);
    else
        facts->explained = facts->explained && facts->differ_step == NOWHERE;
}
