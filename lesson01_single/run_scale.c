/*
 * run_scale: what becomes of a step whose gradient overflowed.
 *
 * Judged is the reduced gradient, of which each rank looks at what its optimizer owns, and the
 * verdicts are shared: one decision for all ranks, whoever's numbers caused it. The step counts: its
 * samples are done with and the schedule goes on; parameters and the optimizer's state stay.
 */
#include "lesson01_single/norm.h"
#include "lesson01_single/run.h"

#include <errno.h>
#include <math.h>

static bool scales(const struct run *run)
{
    return run->scale.dynamic || run->scale.value > 1;
}

/* 16 bits can make a number infinite that was not: where they are used, every gradient is looked at. */
static bool judges(const struct run *run)
{
    return run->options.precision != PRECISION_FP32 || run->options.compress != COMPRESS_NONE;
}

static bool is_finite(const float *x, size_t count)
{
    return isfinite(norm_largest(x, count));
}

static bool owned_is_finite(const struct run *run)
{
    bool finite = true;
    for (size_t i = 0; i < run->optimizer.owned_count; i++) {
        struct slice owned = run->optimizer.owned[i];
        finite = finite && is_finite(run->grad + owned.begin, owned.count);
    }
    return finite;
}

size_t run_scale_numbers(const struct run *run, double numbers[RUN_LOSS_NUMBERS])
{
    if (!judges(run))
        return 1;
    numbers[1] = !owned_is_finite(run);
    return RUN_LOSS_NUMBERS;
}

/* Whose own gradient is not finite? What was reduced does not tell, but the run ends here: every rank
 * computes its own again, and says. -1: no rank's, so it was the sum that overflowed. */
static int find_culprit(struct run *run, const struct step *step, int *culprit)
{
    struct trainer again = run->trainer;
    again.listener = (struct model_listener){0};
    trainer_gradient(&again, step);
    double mine = !is_finite(run->grad, run->model.count), all[ENVIRONMENT_WORLD_MOST];
    int error = run_share(run, &mine, 1, all);
    *culprit = -1;
    for (int rank = run->environment.world - 1; rank >= 0 && !error; rank--)
        *culprit = all[rank] != 0 ? rank : *culprit;
    return error;
}

/* No smaller scale helps: all ranks stop. */
static int refuse_gradient(struct run *run, const struct step *step)
{
    int culprit;
    char whose[64] = "the sum of all ranks' gradients", scale[48] = "";
    int error = find_culprit(run, step, &culprit);
    if (error)
        return error;
    if (culprit >= 0)
        snprintf(whose, sizeof whose, "the gradient of rank %d", culprit);
    if (scales(run))
        snprintf(scale, sizeof scale, " at loss scale %.0f", (double)run->scale.value);
    return fail_set(&run->fail, -ERANGE, "step %zu: %s overflowed%s: no update was made; %s",
                    step->index, whose, scale,
                    run->scale.dynamic || !scales(run)
                        ? "look at the data, try a smaller --lr"
                        : "give --loss-scale dynamic, or a smaller one");
}

/* Where there is no scale, a step that is verified is left to the proof: it tells what is not finite, too,
 * and a mistake of ours must not pass for an overflow. */
int run_scale_judge(struct run *run, const struct step *step, const double *all)
{
    bool overflowed = false;
    for (int rank = 0; rank < run->environment.world && judges(run); rank++)
        overflowed = overflowed || all[rank * RUN_LOSS_NUMBERS + 1] > 0;
    run->skip = false;
    if (overflowed && !scales(run) && run_verifies(run, step))
        return 0;
    run->skip = overflowed;
    return !run->skip || loss_scale_can_shrink(&run->scale) ? 0 : refuse_gradient(run, step);
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
