/*
 * run_finite: is a step's gradient finite; if not, whose is it not, and what becomes of the step.
 *
 * Judged is the reduced gradient, of which each rank looks at what its optimizer owns, and the loss.
 * Verdicts travel with the losses, so that all ranks take one decision: to stop, or to make no update.
 * What was reduced does not tell whose numbers spoilt it. So each rank looks at its own gradient, too,
 * tensor by tensor before it leaves (trainer.h, `looks`).
 *
 * A step without an update still counts as a step: its samples are done with. Parameters, the optimizer's
 * state, the schedule and Adam's own count stay where they were.
 */
#include "lesson01_single/norm.h"
#include "lesson01_single/run.h"

#include <errno.h>
#include <math.h>

/* So many steps in a row are skipped at most: what lasts longer does not pass by itself. */
enum { SKIPS_MOST = 10, CAUSE_BYTES = 96 };

/* What all ranks' numbers say. */
struct verdict {
    double loss;   // the first that is not finite, else all ranks' losses added
    bool overflow; // the reduced gradient is not finite
    int rank;      // whose loss, or else whose own gradient, is not; -1: no rank's
};

static bool scales(const struct run *run)
{
    return run->scale.dynamic || run->scale.value > 1;
}

static bool may_skip(const struct run *run)
{
    return run->options.on_nonfinite == NONFINITE_SKIP;
}

/* In float a gradient that is not finite shows in the norm or in the next loss, and the run stops. But a step is
 * skipped before; and 16 bits can make a number infinite that was not. */
static bool judges(const struct run *run)
{
    return may_skip(run) || run->options.precision != PRECISION_FP32 ||
           run->options.compress != COMPRESS_NONE;
}

bool run_finite_shares(const struct run *run)
{
    return judges(run) || run_wants_norm(run);
}

bool run_finite_looks(const struct run *run)
{
    return run->environment.world > 1 && run_finite_shares(run);
}

static bool owned_is_finite(const struct run *run)
{
    const struct optimizer *optimizer = &run->optimizer;
    bool finite = true;
    for (size_t i = 0, state = 0; i < optimizer->owned_count; i++) {
        struct slice owned = optimizer->owned[i];
        size_t at = optimizer_grad_at(optimizer, owned.begin, state);
        finite = finite && isfinite(norm_largest(run->grad + at, owned.count));
        state += owned.count;
    }
    return finite;
}

size_t run_finite_numbers(const struct run *run, double numbers[RUN_LOSS_NUMBERS])
{
    numbers[0] = run->trainer.loss;
    if (!judges(run) && !run->trainer.looks)
        return 1;
    numbers[1] = judges(run) && !owned_is_finite(run);
    numbers[2] = run->trainer.looks ? run->trainer.nonfinite : numbers[1];
    return RUN_LOSS_NUMBERS;
}

/* The sum over ranks, in rank order: the same bits on every rank. */
static struct verdict read_numbers(const struct run *run, const double *all, size_t count)
{
    struct verdict verdict = {.rank = -1};
    for (int rank = run->environment.world - 1; rank >= 0 && count > 1; rank--) {
        verdict.overflow = verdict.overflow || all[(size_t)rank * count + 1] != 0;
        verdict.rank = all[(size_t)rank * count + 2] != 0 ? rank : verdict.rank;
    }
    for (int rank = 0; rank < run->environment.world && isfinite(verdict.loss); rank++) {
        double theirs = all[(size_t)rank * count];
        verdict.loss = isfinite(theirs) ? verdict.loss + theirs : theirs;
        verdict.rank = isfinite(theirs) ? verdict.rank : rank;
    }
    return verdict;
}

static void tell_cause(const struct run *run, const struct verdict *verdict, char text[CAUSE_BYTES])
{
    char scale[48] = "";
    if (!isfinite(verdict->loss)) {
        snprintf(text, CAUSE_BYTES, "the loss of rank %d is %s", verdict->rank,
                 isnan(verdict->loss) ? "NaN" : "infinite");
        return;
    }
    if (scales(run))
        snprintf(scale, sizeof scale, " at loss scale %.0f", (double)run->scale.value);
    if (verdict->rank >= 0)
        snprintf(text, CAUSE_BYTES, "the gradient of rank %d overflowed%s", verdict->rank, scale);
    else
        snprintf(text, CAUSE_BYTES, "the sum of all ranks' gradients overflowed%s", scale);
}

static const char *advice(const struct run *run, const struct step *step,
                          const struct verdict *verdict)
{
    if (may_skip(run))
        return "look at the data, try a smaller --lr";
    if (!isfinite(verdict->loss))
        return step->index == run->verified_from ? "look at the data and at --init"
                                                 : "try a smaller --lr, or --clip 1";
    return run->scale.dynamic || !scales(run) ? "look at the data, try a smaller --lr"
                                              : "give --loss-scale dynamic, or a smaller one";
}

static int stop(struct run *run, const struct step *step, const struct verdict *verdict)
{
    char cause[CAUSE_BYTES], before[64] = "";
    tell_cause(run, verdict, cause);
    if (may_skip(run))
        snprintf(before, sizeof before, ", nor in the %d steps before", SKIPS_MOST);
    return fail_set(&run->fail, -ERANGE, "step %zu: %s: no update was made%s; %s", step->index,
                    cause, before, advice(run, step, verdict));
}

static void skip(struct run *run, const struct step *step, const struct verdict *verdict)
{
    char cause[CAUSE_BYTES];
    bool shrinks = isfinite(verdict->loss) && loss_scale_can_shrink(&run->scale);
    tell_cause(run, verdict, cause);
    run->skip = true;
    run->skips++;
    run->skips_in_a_row += !shrinks;
    run->used_scale = (double)run->scale.value;
    if (shrinks)
        loss_scale_back_off(&run->scale);
    if (run->environment.rank > 0 || run->options.quiet)
        return;
    progress_clear(&run->progress);
    if (shrinks)
        printf("step %zu: %s: no update; %.0f from here on\n", step->index, cause,
               (double)run->scale.value);
    else
        printf("step %zu: %s: no update; %zu skipped so far\n", step->index, cause,
               run->optimizer.skipped + 1);
}

/* Where there is no scale, a step that is verified is left to the proof: it tells what is not finite, too,
 * and a mistake of ours must not pass for an overflow. But whoever asked for steps to be skipped gets
 * that where a rank's own gradient, which nobody has touched, is the cause. */
static bool is_for_the_proof(const struct run *run, const struct step *step,
                             const struct verdict *verdict)
{
    bool honest = !isfinite(verdict->loss) || (may_skip(run) && verdict->rank >= 0);
    return !honest && !scales(run) && run_verifies(run, step);
}

int run_finite_judge(struct run *run, const struct step *step, const double *all, size_t count)
{
    struct verdict verdict = read_numbers(run, all, count);
    bool finite = isfinite(verdict.loss) && !verdict.overflow;
    run->skip = false;
    run->culprit = run->environment.world > 1 ? verdict.rank : 0;
    run->loss = verdict.loss / (double)step->samples.count;
    if (zoo_has(&run->options, ZOO_RANK0_LOSS_ONLY) && run->trainer.samples > 0)
        run->loss = run->trainer.loss / (double)run->trainer.samples;
    if (finite || is_for_the_proof(run, step, &verdict))
        return 0;
    bool shrinks = isfinite(verdict.loss) && loss_scale_can_shrink(&run->scale);
    if (!shrinks && (!may_skip(run) || run->skips_in_a_row == SKIPS_MOST))
        return stop(run, step, &verdict);
    skip(run, step, &verdict);
    return 0;
}

void run_finite_keep(struct run *run)
{
    if (run->skip)
        return;
    run->skips_in_a_row = 0;
    run->used_scale = (double)run->scale.value;
    loss_scale_keep(&run->scale);
}
