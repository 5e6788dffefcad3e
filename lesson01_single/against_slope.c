/* against_slope: is backward's gradient the slope of the loss? See the header. */
#include "lesson01_single/against_slope.h"
#include "common/locate.h"
#include "common/rng.h"

#include <errno.h>
#include <math.h>

static const double H = 1e-5;   // leaves 11 of a double's 16 digits to the difference
static const double WORK = 4e8; // multiplications a check may cost
static const double DOUBLE_EPSILON = 0x1p-52;
enum { LOSSES_PER_ELEMENT = 4 };

int against_slope_init(struct against_slope *against, struct run *run)
{
    *against = (struct against_slope){0};
    if (run->options.verify == 0)
        return 0;
    int error = bound_init(&against->bound, &run->model, &run->proving);
    return error ? fail_set(&run->fail, error, "no memory to verify with: try --no-verify") : 0;
}

void against_slope_release(struct against_slope *against)
{
    bound_release(&against->bound);
}

/* Which ReLUs let the last sample through, folded into a number. */
static uint64_t pattern_of(const struct reference *reference, uint64_t pattern)
{
    for (size_t layer = 1; layer < reference->model->layers; layer++)
        for (size_t i = 0; i < reference->model->widths[layer]; i++)
            pattern = pattern * 0x100000001b3 + (reference->z[layer][i] > 0);
    return pattern;
}

struct slope {
    struct reference *reference;
    struct trainer *trainer;
    const struct step *step;
    size_t element;
};

/* The step's mean loss with one parameter moved by h. */
static double loss_at(const struct slope *slope, double h, uint64_t *pattern)
{
    struct reference *reference = slope->reference;
    const uint32_t *order = sampler_order(slope->trainer->sampler, slope->step->epoch);
    double kept = reference->param[slope->element], sum = 0;
    reference->param[slope->element] = kept + h;
    *pattern = 0;
    for (size_t i = 0; i < slope->step->samples.count; i++) {
        size_t index = order[slope->step->samples.begin + i];
        sum += reference_loss(reference, slope->trainer->dataset, index);
        *pattern = pattern_of(reference, *pattern);
    }
    reference->param[slope->element] = kept;
    return sum / (double)slope->step->samples.count;
}

/* The slope and a bound on its own error; false where a kink lies between the points. */
static bool measure(const struct slope *slope, double *value, double *error)
{
    uint64_t pattern[LOSSES_PER_ELEMENT];
    double far = loss_at(slope, 2 * H, &pattern[0]) - loss_at(slope, -2 * H, &pattern[1]);
    double up = loss_at(slope, H, &pattern[2]), down = loss_at(slope, -H, &pattern[3]);
    *value = (up - down) / (2 * H);
    *error = fabs(*value - far / (4 * H)) +
             (double)slope->step->samples.count * DOUBLE_EPSILON * (fabs(up) + fabs(down)) / H;
    return pattern[0] == pattern[1] && pattern[1] == pattern[2] && pattern[2] == pattern[3];
}

static void check_element(struct against_slope *against, const struct slope *slope)
{
    double value, error;
    if (!measure(slope, &value, &error)) {
        against->kinks++;
        return;
    }
    /* The slope is handed over as a float: half a unit of its last place. */
    size_t i = against->compare.count;
    double bound = against->bound.bound[slope->element] + error + fabs(value) * 0x1p-24;
    against->element[i] = slope->element;
    against->found[i] = slope->trainer->grad[slope->element];
    against->expected[i] = (float)value;
    compare_bounded(&against->compare, &against->found[i], &against->expected[i], &bound, 1);
}

/* Of each tensor; small ones have fewer. */
static size_t elements_for(const struct model *model, const struct step *step)
{
    double one = (double)model->count * (double)step->samples.count * LOSSES_PER_ELEMENT;
    size_t affordable = (size_t)(WORK / one) / model->tensor_count, least = 2;
    size_t most = AGAINST_SLOPE_MOST / model->tensor_count;
    size_t elements = affordable > least ? affordable : least;
    return elements < most ? elements : most;
}

/* Cuts a tensor into parts and draws an element of each: all are different, and spread. */
static void check_tensor(struct against_slope *against, struct slope *slope, struct slice tensor,
                         size_t elements)
{
    struct rng rng = {.seed = slope->step->index, .stream = RNG_SLOPE};
    size_t parts = elements < tensor.count ? elements : tensor.count;
    for (size_t i = 0; i < parts; i++) {
        struct slice part = slice_of(tensor.count, parts, i);
        size_t first = tensor.begin + part.begin;
        slope->element = first + rng_bits(&rng, first) % part.count;
        check_element(against, slope);
    }
}

void against_slope_compare(struct against_slope *against, struct trainer *trainer,
                           const struct step *step)
{
    const struct model *model = trainer->model;
    struct slope slope = {.reference = &against->bound.reference, .trainer = trainer, .step = step};
    against->compare = (struct compare){0};
    against->kinks = 0;
    bound_step(&against->bound, trainer, step);
    for (size_t i = 0; i < model->tensor_count; i++)
        if (!model->tensors[i].frozen)
            check_tensor(against, &slope, model->tensors[i].slice, elements_for(model, step));
}

/* The elements compared are no whole: chunks are not looked for in them. */
static void say_where(const struct against_slope *against, struct run *run)
{
    size_t first = against->compare.first, element = against->element[first];
    const struct tensor *tensor = model_tensor_at(&run->model, element);
    struct locate locate = {
        .found = against->found,
        .expected = against->expected,
        .count = against->compare.count,
        .world = 1,
        .part = true,
    };
    char cause[LOCATE_TEXT_BYTES];
    locate_cause(&locate, cause);
    struct proof_place place = {
        .tensor = tensor->name,
        .index = element - tensor->slice.begin,
        .found = against->found[first],
        .expected = against->expected[first],
        .cause = cause,
    };
    proof_failure_at(&run->proof, &place);
}

int against_slope_gradient(struct against_slope *against, struct run *run, const struct step *step)
{
    char what[96];
    against_slope_compare(against, &run->trainer, step);
    int width = snprintf(what, sizeof what, "gradient ~ slope of the loss, by central differences");
    if (against->kinks > 0)
        snprintf(what + width, sizeof what - (size_t)width, " (%zu at a kink left out)",
                 against->kinks);
    progress_clear(&run->progress);
    if (!proof_bounded(&run->proof, step->index, what, &against->compare))
        say_where(against, run);
    return run_judge(run, step);
}
