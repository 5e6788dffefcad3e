/* run_record: what is kept of a step: metrics, progress, dumps, checkpoints, evaluation. */
#include "common/clock.h"
#include "lesson01_single/dump.h"
#include "lesson01_single/run.h"
#include "lesson01_single/run_look.h"
#include "lesson01_single/run_trace.h"

#include <errno.h>
#include <math.h>

enum { LOOK_FLOATS = 1024 };

/* A lesson whose communication does not overlap waits for all of it. */
static struct metrics_times times_of(const struct run *run)
{
    return (struct metrics_times){
        .compute_seconds = run->trainer.seconds,
        .comm_seconds = run->comm_seconds > 0 ? run->comm_seconds : run->exposed_seconds,
        .exposed_seconds = run->exposed_seconds,
        .updates = 1,
        .sent = run->bytes_sent > run->bytes_recorded,
    };
}

static void add_times(struct metrics_times *sum, const struct metrics_times *times)
{
    sum->compute_seconds += times->compute_seconds;
    sum->comm_seconds += times->comm_seconds;
    sum->exposed_seconds += times->exposed_seconds;
    sum->updates += times->updates;
    sum->sent = sum->sent || times->sent;
}

static int record_metrics(struct run *run, const struct step *step, double seconds)
{
    size_t mine = run->trainer.samples;
    const struct precision *precision = &run->trainer.precision;
    struct metrics_times times = times_of(run);
    struct metrics_step line = {
        .step = step->index,
        .epoch = step->epoch,
        .lr = run->lr,
        .loss = run->loss,
        .loss_local = mine > 0 ? run->trainer.loss / (double)mine : NAN,
        .samples = step->samples.count,
        .grad_norm = run->norm,
        .loss_scale = precision->kind == PRECISION_FP32 ? 0 : run->used_scale,
        .skipped = run->optimizer.skipped,
        .flushed = (double)precision->flushed / (double)precision->nonzero,
        .seconds = seconds,
        .compute_seconds = times.compute_seconds,
        .comm_seconds = times.comm_seconds,
        .exposed_seconds = times.exposed_seconds,
        .overlap_efficiency = metrics_overlap_efficiency(&times),
        .bytes_sent = run->bytes_sent - run->bytes_recorded,
        .messages_sent = run->messages_sent - run->messages_recorded,
        .offload = run->options.offload ? &run->offload : NULL,
    };
    run->bytes_recorded = run->bytes_sent;
    run->messages_recorded = run->messages_sent;
    if (!run_verifies(run, step)) {
        add_times(&run->epoch_times, &times);
        add_times(&run->times, &times);
        run->all_offload.read_bytes += run->offload.read_bytes;
        run->all_offload.written_bytes += run->offload.written_bytes;
        run->all_offload.seconds += run->offload.seconds;
    }
    int error = metrics_step(&run->metrics, &line, &run->fail);
    return error ? error : run_look_step(run, &line);
}

static bool plots(const struct run *run)
{
    return run->options.plot && run->environment.rank == 0;
}

static void record_progress(struct run *run, const struct step *step)
{
    if (plots(run))
        plot_train(&run->plot, step->index, run->loss);
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

static void add_totals(struct totals *sum, struct totals more)
{
    sum->loss += more.loss;
    sum->correct += more.correct;
    sum->samples += more.samples;
}

/* A mistake: short shares are padded with the first samples until all are `most`. Returns how many samples that
 * makes, over all ranks. */
static size_t add_padding(struct run *run, struct totals *mine, size_t most)
{
    size_t world = (size_t)run->environment.world, rank = (size_t)run->environment.rank;
    size_t uneven = run->test.count % world;
    struct slice first = {0, 0};
    if (mine->samples < most)
        first = (struct slice){(rank - uneven) % run->test.count, 1};
    if (uneven > 0)
        add_totals(mine, trainer_evaluate_in(&run->trainer, &run->test, first, 1));
    return most * world;
}

/* Each rank evaluates its slice of the test set; every sample is counted once. */
static int evaluate(struct run *run)
{
    size_t world = (size_t)run->environment.world, rank = (size_t)run->environment.rank;
    size_t most = slice_of(run->test.count, world, 0).count;
    double began = trace_begin(run->trace);
    struct totals mine =
        trainer_evaluate_in(&run->trainer, &run->test, slice_of(run->test.count, world, rank),
                            trainer_passes(&run->trainer, most));
    size_t samples = run->test.count;
    if (zoo_has(&run->options, ZOO_EVAL_PADDING_COUNTED))
        samples = add_padding(run, &mine, most);
    double numbers[2] = {mine.loss, (double)mine.correct}, all[2 * ENVIRONMENT_WORLD_MOST];
    double loss = 0, correct = 0;
    int error = run_share(run, numbers, 2, all);
    run->evaluated = mine.samples;
    trace_end(run->trace, TRACE_EVALUATION, 0, began);
    for (size_t i = 0; i < world && !error; i++) {
        loss += all[2 * i];
        correct += all[2 * i + 1];
    }
    if (error || run->test.count == 0)
        return error; // test_loss and accuracy stay NaN, which is said as "no test samples"
    run->test_loss = loss / (double)samples;
    run->accuracy = run->test.labels ? correct / (double)samples : NAN;
    return isfinite(run->test_loss) ? 0 : refuse_update(run, "the test loss", run->test_loss);
}

static int finish_epoch(struct run *run, const struct step *step)
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
    if (plots(run))
        plot_test(&run->plot, step->index, run->test_loss);
    struct metrics_epoch record = {
        .epoch = step->epoch,
        .step = step->index + 1,
        .train_loss = train_loss,
        .test_loss = run->test_loss,
        .test_accuracy = run->accuracy,
        .samples_per_second = speed,
        .times = run->epoch_times,
    };
    run->epoch_times = (struct metrics_times){0};
    run->train_loss = train_loss;
    run->epoch_loss = run->timed_seconds = 0;
    run->epoch_samples = run->timed_samples = 0;
    error = metrics_epoch(&run->metrics, &record, &run->fail);
    return error ? error : run_look_epoch(run, &record);
}

static int record_dump(struct run *run, const struct step *step)
{
    if (!run->options.dump || step->index >= run->options.dump_steps)
        return 0;
    const float *param = run->param;
    int error = run->gather_param ? run->gather_param(run->param_context, &param, &run->fail) : 0;
    if (error)
        return error;
    struct dump dump = {
        .options = &run->options,
        .rank = run->environment.rank,
        .world = run->environment.world,
        .param = param,
        .grad = run->grad,
        .optimizer = &run->optimizer,
    };
    struct dump_loss loss = {.mean = run->loss, .samples = step->samples.count};
    return dump_step(&dump, step->index, &loss, &run->fail);
}

/* The first of these parameters that is not finite; 0: all are. */
static int find_infinite(struct run *run, struct slice part, double *found)
{
    float values[LOOK_FLOATS];
    const float *param = run->param_store ? values : run->param + part.begin;
    int error = run->param_store ? run_read_param(run, part, values, &run->fail) : 0;
    for (size_t i = 0; i < part.count && *found == 0 && !error; i++)
        if (!isfinite(param[i]))
            *found = (double)param[i];
    return error;
}

/* The good one of before is worth more. Where each rank has but a part, it looks at that, and all decide. */
static int check_finite(struct run *run)
{
    size_t count = run->optimizer.packed_param ? run->optimizer.count : run->model.count;
    double mine = 0, all[ENVIRONMENT_WORLD_MOST];
    int error = 0;
    for (size_t at = 0; at < count && !error; at += LOOK_FLOATS) {
        size_t left = count - at;
        struct slice part = {at, left < LOOK_FLOATS ? left : LOOK_FLOATS};
        error = find_infinite(run, part, &mine);
    }
    if (error)
        return error;
    error = run_share(run, &mine, 1, all);
    if (mine != 0)
        return refuse_update(run, "a parameter", mine);
    for (int rank = 0; rank < run->environment.world && !error; rank++)
        if (all[rank] != 0)
            error = refuse_update(run, "another rank's parameter", all[rank]);
    return error;
}

static int record_checkpoint(struct run *run)
{
    size_t updates = run->optimizer.updates, every = run->options.save_every;
    bool due = updates == run->updates || (every > 0 && updates % every == 0);
    struct checkpoint checkpoint;
    if (!run->options.save || !due)
        return 0;
    run_checkpoint(run, false, &checkpoint);
    double began = trace_begin(run->trace);
    int error = check_finite(run);
    if (!error)
        error = checkpoint_save(&checkpoint, &run->fail);
    trace_end(run->trace, TRACE_CHECKPOINT, 0, began);
    return error;
}

int run_record(struct run *run, const struct step *step)
{
    double seconds = clock_seconds() - run->step_seconds;
    profile_lap(run->profile, PROFILE_OTHER);
    profile_end(run->profile, !run_verifies(run, step));
    bool last = step->index + 1 == run->updates;
    run->kept = run->memory;
    run->training_seconds += seconds;
    if (!run_verifies(run, step)) {
        run->timed_seconds += seconds;
        run->timed_samples += step->samples.count;
    }
    run->samples += step->samples.count;
    if (isfinite(run->loss)) { // one that is not, of a step that was skipped, is in no mean
        run->epoch_samples += step->samples.count;
        run->epoch_loss += run->loss * (double)step->samples.count;
    }
    record_progress(run, step);
    int error = record_metrics(run, step, seconds);
    if (!error)
        error = record_dump(run, step);
    if (!error)
        error = record_checkpoint(run); // before the evaluation: a kill there loses nothing
    if (!error && (step->last_of_epoch || last))
        error = finish_epoch(run, step);
    if (!error && last)
        error = run_trace_finish(run);
    return error;
}
