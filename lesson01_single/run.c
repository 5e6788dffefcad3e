/* run: what stands around the step, before its numbers are kept. See the header. */
#include "lesson01_single/run.h"
#include "common/clock.h"
#include "lesson01_single/checkpoint.h"
#include "lesson01_single/norm.h"
#include "lesson01_single/run_look.h"
#include "lesson01_single/run_trace.h"
#include "lesson01_single/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_MOST = ENVIRONMENT_WORLD_MOST };

static bool first_rank(const struct run *run)
{
    return run->environment.rank == 0;
}

static bool speaks(const struct run *run)
{
    return first_rank(run) && !run->options.quiet;
}

static void introduce_source(const struct checkpoint_source *source)
{
    printf("going on from %s, saved by %zu rank%s of lesson %zu", source->path, source->world,
           source->world == 1 ? "" : "s", source->lesson);
    if (source->stage > 0)
        printf(", stage %zu", source->stage);
    printf("\n");
}

static void introduce(const struct run *run)
{
    const struct environment *environment = &run->environment;
    if (run->options.lesson > 1 && !environment->launched)
        printf("world size 1: started without a launcher; for 4 ranks: launch -n 4 PROGRAM\n");
    printf("lesson %d, world %d: %zu training and %zu test samples, ", run->options.lesson,
           environment->world, run->train.count, run->test.count);
    for (size_t i = 0; i <= run->model.layers; i++)
        printf("%s%zu", i ? "-" : "", run->model.widths[i]);
    size_t most = run->options.batch * run->options.accumulate;
    printf(" network of %zu parameter%s, %zu update%s of up to %zu sample%s\n", run->model.count,
           run->model.count == 1 ? "" : "s", run->updates, run->updates == 1 ? "" : "s", most,
           most == 1 ? "" : "s");
    size_t all_bytes =
        run->trainer.activations.capacity * activations_width(&run->model, 1) * sizeof(float);
    if (run->optimizer.updates == run->updates)
        printf("all of them were made before: nothing is left to do\n");
    if (run->source.lesson > 0)
        introduce_source(&run->source);
    if (run->options.recompute > 1)
        printf("activations: %zu bytes, keeping one in %zu; all would be %zu\n",
               run->activation_bytes, run->options.recompute, all_bytes);
}

int run_read_param(const struct run *run, struct slice part, float *values, struct fail *fail)
{
    const struct optimizer_store *store = run->param_store;
    if (store)
        return store->read(store->context, 0, part, values, fail);
    memcpy(values, run->param + part.begin, part.count * sizeof *values);
    return 0;
}

int run_start(struct run *run, const struct slice *owned, size_t owned_count)
{
    const struct options *options = &run->options;
    int error =
        optimizer_init(&run->optimizer, options, &run->model, owned, owned_count, &run->memory);
    if (error)
        return fail_set(&run->fail, error, "no memory for the optimizer's state");
    run->optimizer.store = run->store;
    run->optimizer.decays_biases = zoo_has(options, ZOO_DECAY_BIASES);
    run->optimizer.packed_grad = options->stage >= 2;
    run->optimizer.packed_param = options->stage >= 3;
    run->optimizer.tiled_param = run->param_store != NULL;
    error = run_resume(run);
    if (error)
        return error;
    error = metrics_open(&run->metrics, options->metrics, &run->environment, run->optimizer.updates,
                         &run->fail);
    if (!error)
        error = run_trace_start(run);
    if (!error)
        error = run_look_open(run);
    run->unheard = error != 0;
    if (error)
        return error;
    run->verified_from = run->optimizer.updates;
    run->trainer.looks = run_finite_looks(run);
    if (speaks(run))
        introduce(run);
    size_t epochs =
        (run->updates + run->sampler.steps_per_epoch - 1) / run->sampler.steps_per_epoch;
    progress_plan(&run->progress, run->optimizer.updates, run->updates, epochs, clock_seconds());
    return 0;
}

bool run_next(struct run *run, struct step *step)
{
    run_look_begin(run);
    if (run->optimizer.updates >= run->updates)
        return false;
    *step = sampler_step(&run->sampler, run->optimizer.updates);
    if (zoo_has(&run->options, ZOO_RESUME_REPEATS_DATA))
        step->samples = mistakes_repeated(&run->sampler, step, run->verified_from);
    run->step_seconds = clock_seconds();
    run_look_next(run, step);
    if (run->trace)
        run->trace->step = (uint32_t)step->index;
    profile_step(run->profile);
    return true;
}

int run_share(struct run *run, const double *mine, size_t count, double *all)
{
    if (run->gather)
        return run->gather(run->context, mine, count, all, &run->fail);
    for (size_t i = 0; i < count; i++)
        all[i] = mine[i];
    return 0;
}

/* The gradient is there, summed: what has passed since backward ended was waiting for it. */
static void end_wait(struct run *run)
{
    run->exposed_seconds = clock_seconds() - run->trainer.ended_seconds;
    profile_lap(run->profile, PROFILE_WAIT);
    if (!run->trace || run->options.lesson == 1)
        return;
    run->reduces.begin_seconds = run->trainer.ended_seconds;
    if (run->reduces.kind)
        trace_network(run->trace, &run->reduces);
    trace_end(run->trace, TRACE_WAIT, 0, run->reduces.begin_seconds);
}

/* Every rank sees the same numbers, so all do the same. */
int run_loss(struct run *run, const struct step *step)
{
    double mine[RUN_LOSS_NUMBERS], all[RUN_LOSS_NUMBERS * WORLD_MOST];
    mistakes_reduced(run->trainer.mistakes, &run->optimizer, run->grad, run->scale.value);
    size_t count = run_finite_numbers(run, mine);
    end_wait(run);
    int error = run_share(run, mine, count, all);
    if (run->gather)
        trace_since(run->trace, TRACE_SHARE);
    profile_lap(run->profile, PROFILE_SHARE);
    return error ? error : run_finite_judge(run, step, all, count);
}

bool run_wants_norm(const struct run *run)
{
    return run->options.clip > 0 || run->options.metrics;
}

double run_norm(struct run *run)
{
    return run_wants_norm(run) ? norm_of(run->grad, run->model.count) : NAN;
}

static int refuse_norm(struct run *run, const struct step *step, double norm)
{
    char whose[48] = "the sum of all ranks' gradients";
    if (run->culprit >= 0)
        snprintf(whose, sizeof whose, "the gradient of rank %d", run->culprit);
    return fail_set(
        &run->fail, -ERANGE,
        "step %zu: the gradient's norm is %f, as %s overflowed: no update was made; try a "
        "smaller --lr",
        step->index, norm, whose);
}

int run_rate(struct run *run, const struct step *step, double norm, struct rate *rate)
{
    if (run_wants_norm(run) && !isfinite(norm) && !run->skip)
        return refuse_norm(run, step, norm);
    run->norm = norm;
    size_t made = run->optimizer.updates - run->optimizer.skipped;
    run->lr = schedule_lr(&run->options, made, run->updates);
    bool clipped = zoo_has(&run->options, ZOO_CLIP_BEFORE_REDUCE); // by each rank, a mistake
    *rate = (struct rate){.lr = (float)run->lr,
                          .clip = clipped ? 1 : norm_clip(norm, run->options.clip),
                          .skip = run->skip || run->mistakes.skips};
    run_finite_keep(run);
    profile_lap(run->profile, PROFILE_OTHER);
    return 0;
}

bool run_verifies(const struct run *run, const struct step *step)
{
    size_t first = run->verified_from + run->skips;
    return !run->skip && step->index >= first && step->index - first < run->options.verify;
}

/* The verdict may travel over the very ring that is being judged: what arrives and is no 0 counts as a
 * failure, and so does what this rank has seen itself. */
int run_judge(struct run *run, const struct step *step)
{
    double mine = (double)run->proof.failed, all[WORLD_MOST];
    if (mine > 0)
        run->exit_code = EXIT_NOT_EQUAL;
    int error = run_share(run, &mine, 1, all);
    trace_since(run->trace, TRACE_VERIFY); // nothing else is between
    for (int rank = 0; rank < run->environment.world && !error; rank++)
        if (all[rank] != 0 || mine > 0) {
            run->exit_code = EXIT_NOT_EQUAL;
            error = fail_set(&run->fail, -ECANCELED, "verification failed at step %zu on rank %d",
                             step->index, mine > 0 ? run->environment.rank : rank);
        }
    return error;
}
