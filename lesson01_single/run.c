/* run: what stands around the step, from the first to the last. See the header. */
#include "lesson01_single/run.h"
#include "common/clock.h"
#include "lesson01_single/checkpoint.h"
#include "lesson01_single/dump.h"
#include "lesson01_single/norm.h"
#include "lesson01_single/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { WORLD_MOST = ENVIRONMENT_WORLD_MOST };

static bool first_rank(const struct run *run)
{
    return run->environment.rank == 0;
}

static bool speaks(const struct run *run)
{
    return first_rank(run) && !run->options.quiet;
}

static struct checkpoint checkpoint_of(struct run *run)
{
    return (struct checkpoint){
        .options = &run->options,
        .sampler = &run->sampler,
        .optimizer = &run->optimizer,
        .param = run->param,
        .writes = first_rank(run),
        .gather = run->gather_state,
        .context = run->state_context,
    };
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
    printf(" network of %zu parameters, %zu updates of up to %zu samples\n", run->model.count,
           run->updates, run->options.batch * run->options.accumulate);
}

int run_start(struct run *run, const struct slice *owned, size_t owned_count)
{
    const struct options *options = &run->options;
    int error =
        optimizer_init(&run->optimizer, options, &run->model, owned, owned_count, &run->memory);
    if (error)
        return fail_set(&run->fail, error, "no memory for the optimizer's state");
    struct checkpoint checkpoint = checkpoint_of(run);
    if (options->resume)
        error = checkpoint_load(&checkpoint, &run->fail);
    if (!error && run->optimizer.updates >= run->updates) {
        run->exit_code = EXIT_USAGE;
        error = fail_set(&run->fail, -EINVAL,
                         "--resume %s: %zu updates were made already and this run has %zu: give "
                         "more --epochs or --steps",
                         options->resume, run->optimizer.updates, run->updates);
    }
    if (!error)
        error = metrics_open(&run->metrics, options->metrics, run->environment.rank,
                             run->environment.world, &run->fail);
    if (error)
        return error;
    run->verified_from = run->optimizer.updates;
    if (speaks(run))
        introduce(run);
    size_t epochs =
        (run->updates + run->sampler.steps_per_epoch - 1) / run->sampler.steps_per_epoch;
    progress_plan(&run->progress, run->optimizer.updates, run->updates, epochs, clock_seconds());
    return 0;
}

bool run_next(struct run *run, struct step *step)
{
    if (run->optimizer.updates >= run->updates)
        return false;
    *step = sampler_step(&run->sampler, run->optimizer.updates);
    run->step_seconds = clock_seconds();
    return true;
}

static int share(struct run *run, const double *mine, size_t count, double *all)
{
    if (run->gather)
        return run->gather(run->context, mine, count, all, &run->fail);
    for (size_t i = 0; i < count; i++)
        all[i] = mine[i];
    return 0;
}

/* Sums of loss and samples over ranks, in rank order: the same bits on every rank. Every rank sees
 * the same numbers, so all stop at the same step. */
static int refuse_loss(struct run *run, const struct step *step, int rank, double loss)
{
    bool first = step->index == run->verified_from;
    return fail_set(&run->fail, -ERANGE,
                    "step %zu: the loss of rank %d is %s: no update was made; %s", step->index,
                    rank, isnan(loss) ? "NaN" : "infinite",
                    first ? "look at the data and at --init" : "try a smaller --lr, or --clip 1");
}

int run_loss(struct run *run, const struct step *step)
{
    run->exposed_seconds = clock_seconds() - run->step_seconds - run->trainer.seconds;
    double all[WORLD_MOST], loss = 0;
    int error = share(run, &run->trainer.loss, 1, all);
    for (int rank = 0; rank < run->environment.world && !error; rank++) {
        if (!isfinite(all[rank]))
            return refuse_loss(run, step, rank, all[rank]);
        loss += all[rank];
    }
    run->loss = loss / (double)step->samples.count;
    return error;
}

bool run_wants_norm(const struct run *run)
{
    return run->options.clip > 0 || run->options.metrics;
}

double run_norm(struct run *run)
{
    return run_wants_norm(run) ? norm_of(run->grad, run->model.count) : NAN;
}

int run_rate(struct run *run, const struct step *step, double norm, struct rate *rate)
{
    if (run_wants_norm(run) && !isfinite(norm))
        return fail_set(
            &run->fail, -ERANGE,
            "step %zu: the gradient's norm is %f: no update was made; try a smaller --lr",
            step->index, norm);
    run->norm = norm;
    run->lr = schedule_lr(&run->options, step->index, run->updates);
    *rate = (struct rate){.lr = (float)run->lr, .clip = norm_clip(norm, run->options.clip)};
    return 0;
}

static int record_metrics(struct run *run, const struct step *step, double seconds)
{
    size_t mine = run->trainer.samples;
    bool overlaps = run->comm_seconds > 0;
    struct metrics_step line = {
        .step = step->index,
        .epoch = step->epoch,
        .lr = run->lr,
        .loss = run->loss,
        .loss_local = mine > 0 ? run->trainer.loss / (double)mine : NAN,
        .samples = step->samples.count,
        .grad_norm = run->norm,
        .seconds = seconds,
        .compute_seconds = run->trainer.seconds,
        .comm_seconds = overlaps ? run->comm_seconds : run->exposed_seconds,
        .exposed_seconds = run->exposed_seconds,
        .bytes_sent = run->bytes_sent - run->bytes_recorded,
    };
    run->bytes_recorded = run->bytes_sent;
    return metrics_step(&run->metrics, &line, &run->fail);
}

static void record_progress(struct run *run, const struct step *step)
{
    struct progress_step line = {
        .done = step->index + 1,
        .epoch = step->epoch,
        .loss = run->loss,
        .lr = run->lr,
        .samples = step->samples.count,
        .now_seconds = clock_seconds(),
    };
    progress_step(&run->progress, &line);
}

/* Every rank has the same parameters, so all stop here alike. */
static int refuse_update(struct run *run, const char *what, double value)
{
    return fail_set(&run->fail, -ERANGE,
                    "step %zu: after its update %s is %f: the run has diverged; try a smaller "
                    "--lr, or --clip 1",
                    run->optimizer.updates - 1, what, value);
}

/* Each rank evaluates its slice of the test set; every sample is counted once. */
static int evaluate(struct run *run)
{
    size_t world = (size_t)run->environment.world, rank = (size_t)run->environment.rank;
    struct totals mine =
        trainer_evaluate(&run->trainer, &run->test, slice_of(run->test.count, world, rank));
    double numbers[2] = {mine.loss, (double)mine.correct}, all[2 * WORLD_MOST];
    double loss = 0, correct = 0;
    int error = share(run, numbers, 2, all);
    for (size_t i = 0; i < world && !error; i++) {
        loss += all[2 * i];
        correct += all[2 * i + 1];
    }
    if (error || run->test.count == 0)
        return error; // test_loss and accuracy stay NaN, which is said as "no test samples"
    run->test_loss = loss / (double)run->test.count;
    run->accuracy = run->test.labels ? correct / (double)run->test.count : NAN;
    return isfinite(run->test_loss) ? 0 : refuse_update(run, "the test loss", run->test_loss);
}

static int record_epoch(struct run *run, const struct step *step)
{
    double speed = (double)run->timed_samples / run->timed_seconds; // NaN: all were verified
    double train_loss = run->epoch_loss / (double)run->epoch_samples;
    int error = evaluate(run);
    if (error)
        return error;
    struct progress_epoch line = {
        .epoch = step->epoch,
        .loss = train_loss,
        .test_loss = run->test_loss,
        .test_accuracy = run->accuracy,
        .lr = run->lr,
        .samples_per_second = speed,
    };
    progress_epoch(&run->progress, &line);
    struct metrics_epoch record = {
        .epoch = step->epoch,
        .step = step->index + 1,
        .train_loss = train_loss,
        .test_loss = run->test_loss,
        .test_accuracy = run->accuracy,
        .samples_per_second = speed,
    };
    run->train_loss = train_loss;
    run->epoch_loss = run->timed_seconds = 0;
    run->epoch_samples = run->timed_samples = 0;
    return metrics_epoch(&run->metrics, &record, &run->fail);
}

static int record_dump(struct run *run, const struct step *step)
{
    if (!run->options.dump || step->index >= run->options.dump_steps)
        return 0;
    struct dump dump = {
        .options = &run->options,
        .rank = run->environment.rank,
        .world = run->environment.world,
        .param = run->param,
        .grad = run->grad,
        .optimizer = &run->optimizer,
    };
    struct dump_loss loss = {.mean = run->loss, .samples = step->samples.count};
    return dump_step(&dump, step->index, &loss, &run->fail);
}

static int record_checkpoint(struct run *run)
{
    size_t updates = run->optimizer.updates, every = run->options.save_every;
    bool due = updates == run->updates || (every > 0 && updates % every == 0);
    if (!run->options.save || !due)
        return 0;
    for (size_t i = 0; i < run->model.count; i++) // the good one of before is worth more
        if (!isfinite(run->param[i]))
            return refuse_update(run, "a parameter", (double)run->param[i]);
    struct checkpoint checkpoint = checkpoint_of(run);
    return checkpoint_save(&checkpoint, &run->fail);
}

bool run_verifies(const struct run *run, const struct step *step)
{
    size_t first = run->verified_from;
    return step->index >= first && step->index - first < run->options.verify;
}

int run_record(struct run *run, const struct step *step)
{
    double seconds = clock_seconds() - run->step_seconds;
    bool last = step->index + 1 == run->updates;
    run->training_seconds += seconds;
    if (!run_verifies(run, step)) {
        run->timed_seconds += seconds;
        run->timed_samples += step->samples.count;
    }
    run->samples += step->samples.count;
    run->epoch_samples += step->samples.count;
    run->epoch_loss += run->loss * (double)step->samples.count;
    record_progress(run, step);
    int error = record_metrics(run, step, seconds);
    if (!error)
        error = record_dump(run, step);
    if (!error)
        error = record_checkpoint(run); // before the evaluation: a kill there loses nothing
    if (!error && (step->last_of_epoch || last))
        error = record_epoch(run, step);
    return error;
}

int run_judge(struct run *run, const struct step *step)
{
    double mine = (double)run->proof.failed, all[WORLD_MOST];
    int error = share(run, &mine, 1, all);
    for (int rank = 0; rank < run->environment.world && !error; rank++)
        if (all[rank] > 0) {
            run->exit_code = EXIT_NOT_EQUAL;
            error = fail_set(&run->fail, -ECANCELED,
                             "verification failed at step %zu: %.0f comparisons on rank %d",
                             step->index, all[rank], rank);
        }
    return error;
}
