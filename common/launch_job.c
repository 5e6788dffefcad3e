/* launch_job: starts the ranks, waits for signals, and stops them. See the header. */
#include "common/launch_job.h"

#include "common/launch_cause.h"
#include "common/launch_keeper.h"
#include "common/launch_output.h"
#include "common/launch_plan.h"
#include "common/launch_rank.h"
#include "common/launch_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNALS = 4, REASON_BYTES = 128 };

static const uint64_t failing_ms = 1000; // how long a dead rank's neighbours may take to say so
static const uint64_t drain_ms = 500;    // how long a pipe somebody else holds open is listened to
static const uint64_t again_ms = 20;     // one signal that was sent to us twice (timeout(1) does)

enum state { RUNNING, FAILING, STOPPING, KILLED, DRAINING };

struct job {
    const struct launch_options *options;
    struct launch_plan plan;
    struct launch_keeper keeper;
    struct launch_output output;
    uv_loop_t loop;
    uv_signal_t signals[SIGNALS];
    uv_timer_t timer;
    enum state state;
    bool aborted;            // something that is no rank's fault was to end it
    size_t running, over;    // ranks
    struct launch_end *ends; // (local_world), as are pids
    pid_t *pids;
    int code;                  // unless a rank is the cause
    char reason[REASON_BYTES]; // why the job was stopped, unless a rank is the cause; or ""
    uint64_t stopped_at;       // milliseconds of the loop
};

static void job_kill(struct job *job)
{
    job->state = KILLED;
    launch_keeper_signal(&job->keeper, SIGKILL);
}

static void on_timer(uv_timer_t *timer);

static void job_stop(struct job *job)
{
    job->state = STOPPING;
    job->stopped_at = uv_now(&job->loop);
    launch_keeper_signal(&job->keeper, SIGTERM);
    launch_keeper_signal(&job->keeper, SIGCONT); // a stopped process heeds no other signal
    uv_timer_start(&job->timer, on_timer, (uint64_t)(1000 * job->options->grace_seconds), 0);
}

/* Something that is no rank's fault ends the job. */
static void job_abort(struct job *job, int code, const char *reason)
{
    job->aborted = true;
    if (job->state >= STOPPING)
        return;
    if (job->state == RUNNING) {
        job->code = code;
        snprintf(job->reason, sizeof job->reason, "%s", reason);
    }
    job_stop(job);
}

static void on_output_change(void *owner)
{
    struct job *job = owner;
    int error = launch_output_error(&job->output);
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "its output cannot be written: %s", strerror(-error));
    if (error == -EPIPE)
        job_abort(job, 128 + SIGPIPE, "nobody reads its output any longer");
    else if (error < 0)
        job_abort(job, 1, reason);
    if (job->state == DRAINING && launch_output_ended(&job->output))
        uv_stop(&job->loop);
}

static void on_timer(uv_timer_t *timer)
{
    struct job *job = timer->data;
    if (job->state == FAILING) {
        job_stop(job);
    } else if (job->state == STOPPING) {
        job_kill(job);
    } else if (job->state == DRAINING && launch_output_still(&job->output) &&
               (job->code != 0 || launch_output_flushed(&job->output))) {
        /* The job was interrupted and nobody reads; or a rank has left a process behind. */
        launch_keeper_end(&job->keeper);
        launch_output_close(&job->output);
        uv_stop(&job->loop);
    }
}

static void job_drain(struct job *job)
{
    if (job->state >= STOPPING)
        launch_keeper_end(&job->keeper);
    job->state = DRAINING;
    uv_timer_start(&job->timer, on_timer, drain_ms, drain_ms);
    on_output_change(job);
}

static void job_reap(struct job *job, size_t i)
{
    struct launch_end *end = &job->ends[i];
    if (end->ended || !launch_end_poll(end, job->pids[i], job->state < STOPPING))
        return;
    end->order = job->over++;
    end->stopped = job->state >= STOPPING;
    job->running--;
    if (end->status != 0 && job->state == RUNNING) {
        job->state = FAILING;
        uv_timer_start(&job->timer, on_timer, failing_ms, 0);
    }
}

static void on_child(uv_signal_t *signal, int number)
{
    struct job *job = signal->data;
    (void)number;
    if (job->state == DRAINING)
        return;
    for (size_t i = 0; i < job->output.ranks; i++)
        job_reap(job, i);
    if (job->running == 0) {
        job_drain(job);
    } else if (job->state != KILLED && launch_keeper_lost(&job->keeper)) {
        job_abort(job, 1, "the process that guards the ranks was killed");
        job->state = KILLED;
    }
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct job *job = signal->data;
    bool again = job->state >= STOPPING && uv_now(&job->loop) - job->stopped_at >= again_ms;
    job_abort(job, 128 + number, launch_signals_reason(number));
    if (again && job->state == STOPPING)
        job_kill(job);
    if (!again || job->state != DRAINING)
        return;
    if (job->code == 0)
        job->code = 128 + number;
    uv_stop(&job->loop);
}

static int job_listen(struct job *job)
{
    static const int numbers[SIGNALS] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    signal(SIGPIPE, SIG_IGN);
    int error = uv_timer_init(&job->loop, &job->timer);
    job->timer.data = job;
    for (int i = 0; i < SIGNALS && error == 0; i++) {
        error = uv_signal_init(&job->loop, &job->signals[i]);
        job->signals[i].data = job;
        if (numbers[i] == SIGHUP && launch_signals_outlives_terminal())
            continue;
        if (error == 0)
            error = uv_signal_start(&job->signals[i], i == 0 ? on_child : on_signal, numbers[i]);
    }
    return error;
}

static int job_start_ranks(struct job *job, struct fail *fail)
{
    for (int i = 0; i < job->plan.local_world; i++) {
        struct launch_process process;
        int error = launch_rank_start(&job->plan, i, job->keeper.group, &process, fail);
        if (error < 0)
            return error;
        int rank = job->plan.first_rank + i;
        job->pids[i] = process.pid;
        job->ends[i].rank = rank;
        job->running++;
        error = launch_output_attach(&job->output, (size_t)i, rank, &process, fail);
        if (error < 0)
            return error;
    }
    return 0;
}

static int job_prepare(struct job *job, struct fail *fail)
{
    size_t ranks = (size_t)job->options->ranks;
    job->output.on_change = on_output_change;
    job->output.owner = job;
    job->ends = calloc(ranks, sizeof *job->ends);
    job->pids = calloc(ranks, sizeof *job->pids);
    int error = job->ends && job->pids ? job_listen(job) : -ENOMEM;
    launch_signals_let(); // those that came since the last start
    if (error < 0)
        return fail_set(fail, error, "cannot prepare the job: %s", strerror(-error));
    error = launch_output_init(&job->output, &job->loop, ranks, fail);
    if (error == 0 && job->options->log_dir)
        error = launch_output_log(&job->output, &job->plan, job->options->log_dir, fail);
    return error;
}

/* Whoever comes to the address and port with no token either is believed to be of this job. */
static void job_warn(struct job *job)
{
    if (job->options->nodes > 1 && !getenv("JOB_TOKEN"))
        launch_output_say(&job->output,
                          "launch: JOB_TOKEN is not set, so ranks of another job could join this "
                          "one by mistake: set it to the same 32 hexadecimal digits on every "
                          "machine\n");
}

/* Another try would end as this one did, if the program said so, or somebody ended the job. */
static bool may_restart(const struct job *job, int code)
{
    bool final = code == LAUNCH_USAGE || code == LAUNCH_NOT_EQUAL || code == LAUNCH_CANNOT_START;
    return code != 0 && !final && !job->aborted && job->plan.restart < job->options->max_restarts;
}

/* The last lines. */
static int job_tell(struct job *job, bool *again)
{
    char text[LAUNCH_CAUSE_TEXT_BYTES] = "";
    size_t ranks = job->output.ranks, cause = launch_cause_find(job->ends, ranks);
    int code = cause < ranks ? launch_cause_code(&job->ends[cause]) : job->code;
    if (cause < ranks)
        launch_cause_tell(job->ends, ranks, cause, text);
    else if (job->reason[0])
        snprintf(text, sizeof text, "launch: the job was stopped: %s\n", job->reason);
    launch_output_say(&job->output, text);
    *again = cause < ranks && may_restart(job, code);
    if (*again) {
        snprintf(text, sizeof text, "launch: all ranks are started again: restart %d of %d\n",
                 job->plan.restart + 1, job->options->max_restarts);
        launch_output_say(&job->output, text);
    }
    if (cause < ranks && code == 1 && job->options->nodes > 1)
        launch_output_say(&job->output,
                          "launch: first on this machine, that is: if it lost a rank of another "
                          "one, its own words above name that rank\n");
    if (launch_output_flushed(&job->output))
        return code;
    uv_run(&job->loop, UV_RUN_DEFAULT); // until it is written
    return code;
}

/* Before the job starts again: signals wait for the next loop; this one hears those that have come. */
static void job_hear_last(struct job *job, int *code, bool *again)
{
    launch_signals_hold();
    uv_timer_stop(&job->timer);
    uv_run(&job->loop, UV_RUN_NOWAIT);
    if (!job->aborted)
        return;
    launch_signals_let();
    *again = false;
    *code = job->code;
    launch_output_say(&job->output, "launch: it is not: the job was told to end\n");
    if (!launch_output_flushed(&job->output))
        uv_run(&job->loop, UV_RUN_DEFAULT);
}

static void on_walk(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void job_release(struct job *job)
{
    launch_keeper_end(&job->keeper);
    launch_plan_release(&job->plan);
    uv_walk(&job->loop, on_walk, NULL);
    uv_run(&job->loop, UV_RUN_DEFAULT);
    uv_loop_close(&job->loop);
    launch_output_release(&job->output);
    free(job->ends);
    free(job->pids);
}

int launch_job_run(const struct launch_options *options, int restart, int *code, bool *again,
                   struct fail *fail)
{
    struct job job = {.options = options, .plan.listener = -1};
    *code = 1;
    *again = false;
    int error = launch_keeper_start(&job.keeper, fail);
    if (error < 0)
        return error;
    error = uv_loop_init(&job.loop);
    if (error < 0) {
        launch_keeper_end(&job.keeper);
        return fail_set(fail, error, "cannot make an event loop: %s", uv_strerror(error));
    }
    error = launch_plan_make(&job.plan, options, restart, fail);
    if (error == 0)
        error = job_prepare(&job, fail);
    if (error == 0)
        error = job_start_ranks(&job, fail);
    if (error == -ENOEXEC)
        *code = LAUNCH_CANNOT_START;
    if (error == 0) {
        launch_plan_release(&job.plan);
        job_warn(&job);
        uv_run(&job.loop, UV_RUN_DEFAULT);
        *code = job_tell(&job, again);
        if (*again)
            job_hear_last(&job, code, again);
    }
    job_release(&job);
    return error;
}
