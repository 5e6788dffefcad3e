/* run_close: says how a run ended, and gives everything back. */
#include "lesson01_single/run.h"
#include "lesson01_single/run_look.h"
#include "lesson01_single/run_trace.h"
#include "common/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *program_of(const struct run *run)
{
    static const char *const programs[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                           "lesson04_zero"};
    return programs[run->options.lesson - 1];
}

/* What the communicator says begins with this rank already. */
static bool names_rank(const struct run *run)
{
    char rank[24];
    size_t length = (size_t)snprintf(rank, sizeof rank, "rank %d", run->environment.rank);
    if (strncmp(run->fail.text, rank, length) != 0)
        return false;
    char next = run->fail.text[length];
    return next < '0' || next > '9';
}

static void report_failure(const struct run *run)
{
    fflush(stdout);
    if (run->environment.world > 1 && !names_rank(run))
        fprintf(stderr, "%s: rank %d: %s\n", program_of(run), run->environment.rank,
                run->fail.text);
    else
        fprintf(stderr, "%s: %s\n", program_of(run), run->fail.text);
}

/* One row of the table `make demo` ends with. */
static void report_result(const struct run *run)
{
    char summary[PROOF_SUMMARY_BYTES], loss[PROGRESS_LOSS_BYTES], test[PROGRESS_LOSS_BYTES];
    progress_loss(loss, run->train_loss);
    progress_loss(test, run->test_loss);
    proof_summary(&run->proof, summary);
    printf("result | lesson %d | world %d | loss %s | ", run->options.lesson,
           run->environment.world, loss);
    if (isnan(run->test_loss))
        printf("no test samples");
    else if (isnan(run->accuracy))
        printf("test loss %s", test);
    else
        printf("accuracy %.2f %%", 100 * run->accuracy);
    printf(" | %.1f s", clock_seconds() - run->began_seconds);
    if (run->optimizer.skipped > 0)
        printf(" | %zu of %zu updates skipped", run->optimizer.skipped, run->optimizer.updates);
    printf(" | verified: %s%s%s\n", run->proof.lines > 0 ? run->claim : "",
           run->proof.lines > 0 ? ": " : "", summary);
}

/* How much of the communication backward has hidden, in the lessons that are about it. */
static void report_overlap(const struct run *run)
{
    double updates = (double)run->times.updates;
    double efficiency = metrics_overlap_efficiency(&run->times);
    if (run->options.lesson < 3 || run->options.quiet || isnan(efficiency))
        return;
    printf("overlap | an update computes %.3f ms and communicates %.3f ms, of which %.3f ms are "
           "exposed | efficiency %.0f %%\n",
           1e3 * run->times.compute_seconds / updates, 1e3 * run->times.comm_seconds / updates,
           1e3 * run->times.exposed_seconds / updates, 100 * efficiency);
}

/* What it costs to keep the optimizer's state in a file. */
static void report_offload(const struct run *run)
{
    double updates = (double)run->times.updates;
    const struct metrics_offload *all = &run->all_offload;
    if (!run->options.offload || run->options.quiet || updates == 0)
        return;
    printf("offload | an update reads %.0f and writes %.0f bytes of rank %d's state, and takes "
           "%.3f ms\n",
           (double)all->read_bytes / updates, (double)all->written_bytes / updates,
           run->environment.rank, 1e3 * all->seconds / updates);
}

static int summarize(struct run *run)
{
    struct metrics_summary summary = {
        .lesson = run->options.lesson,
        .rank = run->environment.rank,
        .world = run->environment.world,
        .steps = run->optimizer.updates,
        .epochs = run->optimizer.updates / run->sampler.steps_per_epoch,
        .skipped = run->optimizer.skipped,
        .samples = run->samples,
        .seconds = clock_seconds() - run->began_seconds,
        .samples_per_second = (double)run->samples / run->training_seconds,
        .train_loss = run->train_loss,
        .test_loss = run->test_loss,
        .test_accuracy = run->accuracy,
        .times = run->times,
        .bytes_sent = run->bytes_sent,
        .memory = run->kept,
        .recomputed_layers = run->trainer.activations.recomputed,
        .comparisons = run->proof.lines,
        .failed = run->proof.failed,
    };
    int error = metrics_summary(&run->metrics, &summary, &run->fail);
    int closed = metrics_close(&run->metrics, &run->fail);
    return error ? error : closed;
}

static void release(struct run *run)
{
    mistakes_release(&run->mistakes);
    optimizer_release(&run->optimizer);
    trainer_release(&run->trainer);
    memory_return(&run->memory, MEMORY_PARAMETERS, run->param, run->model.count);
    memory_return(&run->memory, MEMORY_GRADIENTS, run->grad, run->model.count);
    sampler_release(&run->sampler);
    dataset_release(&run->train);
    dataset_release(&run->test);
}

/* Output that never arrived is a failure, be it all of --help: a full disk must not look like
 * success. */
static enum exit_code check_output(const struct run *run, enum exit_code code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: cannot write to the standard output: %s\n", program_of(run),
            strerror(errno ? errno : EIO));
    return code == EXIT_SUCCEEDED ? EXIT_RUN_FAILED : code;
}

int run_close(struct run *run)
{
    enum exit_code code = run->exit_code;
    bool asked = run->options.help || run->options.version;
    if (run->fail.code == 0 && !asked && run->samples > 0)
        summarize(run);
    run_trace_close(run);
    run_look_close(run, run->fail.code ? code : EXIT_SUCCEEDED);
    progress_clear(&run->progress);
    if (!run->options.quiet) // of a run that failed too: how far it came
        plot_draw(&run->plot, plot_letters(), stdout);
    if (run->fail.code) {
        report_failure(run);
    } else {
        code = EXIT_SUCCEEDED;
        if (run->options.help)
            options_help(&run->options, program_of(run), stdout);
        else if (run->options.version)
            printf("%s %s\n", program_of(run), "0.1.0");
        else if (run->environment.rank == 0 && run->samples > 0) {
            report_overlap(run);
            report_offload(run);
            report_result(run);
        }
    }
    release(run);
    return check_output(run, code);
}
