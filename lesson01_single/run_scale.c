/*
 * run_scale: what becomes of a step whose gradient overflowed.
 *
 * Judged is the reduced gradient, of which each rank looks at what its optimizer owns, and the
 * verdicts are shared: one decision for all ranks, whoever's numbers caused it. The step counts: its
 * samples are done with and the schedule goes on; parameters and the optimizer's state stay.
 */
#include "lesson01_single/run.h"

#include <errno.h>
#include <math.h>

static bool scales(const struct run *run)
{
    return run->scale.dynamic || run->scale.value > 1;
}

static bool owned_is_finite(const struct run *run)
{
    bool finite = true;
    for (size_t i = 0; i < run->optimizer.owned_count; i++) {
        struct slice owned = run->optimizer.owned[i];
        for (size_t j = owned.begin; j < owned.begin + owned.count; j++)
            finite = finite && isfinite(run->grad[j]);
    }
    return finite;
}

size_t run_scale_numbers(const struct run *run, double numbers[RUN_LOSS_NUMBERS])
{
    if (!scales(run))
        return 1;
    numbers[1] = !owned_is_finite(run);
    numbers[2] = (double)run->trainer.precision.infinite;
    return RUN_LOSS_NUMBERS;
}

/* Whose own gradients overflowed; where only their sum did, rank 0. */
static int culprit(const struct run *run, const double *all)
{
    for (int rank = 0; rank < run->environment.world; rank++)
        if (all[rank * RUN_LOSS_NUMBERS + 2] > 0)
            return rank;
    return 0;
}

int run_scale_judge(struct run *run, const struct step *step, const double *all)
{
    run->skip = false;
    for (int rank = 0; rank < run->environment.world && scales(run); rank++)
        run->skip = run->skip || all[rank * RUN_LOSS_NUMBERS + 1] > 0;
    if (!run->skip || loss_scale_can_shrink(&run->scale))
        return 0;
    return fail_set(
        &run->fail, -ERANGE,
        "step %zu: the gradient of rank %d overflowed at loss scale %.0f: no update was "
        "made; %s",
        step->index, culprit(run, all), (double)run->scale.value,
        run->scale.dynamic ? "look at the data, try a smaller --lr"
                           : "give --loss-scale dynamic, or a smaller one");
}

void run_scale_move(struct run *run, const struct step *step)
{
    run->used_scale = (double)run->scale.value;
    if (!run->skip) {
        loss_scale_keep(&run->scale);
        return;
    }
    loss_scale_back_off(&run->scale);
    run->skips++;
    if (run->environment.rank > 0 || run->options.quiet)
        return;
    progress_clear(&run->progress);
    printf("step %zu: a gradient overflowed at loss scale %.0f: no update; %.0f from here on\n",
           step->index, run->used_scale, (double)run->scale.value);
}
