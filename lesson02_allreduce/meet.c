/* meet: from a run to its communicator. See the header. */
#include "lesson02_allreduce/meet.h"
#include "common/compare.h"
#include "lesson02_allreduce/gather.h"
#include "lesson02_allreduce/rendezvous.h"
#include "lesson02_allreduce/tuning.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <uv.h>

/* Lesson 4 sends halves of an all-reduce, which the others do not have. */
static bool lesson_has(int lesson, enum algorithm algorithm)
{
    return lesson < 4 || algorithm == ALGORITHM_RING || algorithm == ALGORITHM_DIRECT;
}

static int read_tuning(struct run *run, struct choice *choice)
{
    const struct options *options = &run->options;
    struct tuning tuning = {run->environment.world, (enum comm_transport)options->transport};
    run->exit_code = EXIT_USAGE;
    int error = tuning_read(&tuning, choice, options->tuning, &run->fail);
    if (error)
        return error;
    for (size_t i = 0; i < CHOICE_ROWS_MOST && choice->rows[i].most_bytes > 0; i++) {
        enum algorithm algorithm = (enum algorithm)choice->rows[i].algorithm;
        if (!lesson_has(options->lesson, algorithm))
            return fail_set(&run->fail, -EINVAL,
                            "--tuning: %s names %s, and lesson %d has ring and direct only",
                            options->tuning, algorithm_name(algorithm), options->lesson);
    }
    run->exit_code = EXIT_RUN_FAILED;
    return 0;
}

int meet_choice(struct run *run, struct choice *choice)
{
    const struct options *options = &run->options;
    enum algorithm algorithm = (enum algorithm)options->algorithm;
    int world = run->environment.world;
    if (algorithm == ALGORITHM_AUTO && options->tuning)
        return read_tuning(run, choice);
    if (algorithm == ALGORITHM_AUTO)
        *choice = options->lesson < 4 ? choice_builtin(world) : choice_builtin_halves(world);
    else
        *choice = choice_fixed(algorithm);
    return 0;
}

/* What --link asks for and this job does not have. */
static int check_link(struct run *run)
{
    const struct environment *environment = &run->environment;
    int straggler = run->options.link_spec.straggler;
    if (!run->options.link)
        return 0;
    run->exit_code = EXIT_USAGE;
    if (straggler >= environment->world)
        return fail_set(&run->fail, -EINVAL,
                        "--link: straggler %d is none of the ranks, which are 0 to %d", straggler,
                        environment->world - 1);
    if (environment->local_world > 0 && environment->local_world < environment->world)
        return fail_set(&run->fail, -EINVAL,
                        "--link: of %d ranks only %d are on this machine; slowed links need one "
                        "clock for all: start all of them here",
                        environment->world, environment->local_world);
    run->exit_code = EXIT_RUN_FAILED;
    return 0;
}

/* Lesson 2's one call of a step, as a trace shows it. */
static void describe_allreduce(struct run *run, const struct choice *choice)
{
    struct trace_event *reduces = &run->reduces;
    size_t bytes = run->model.count * sizeof(float);
    *reduces = (struct trace_event){
        .kind = TRACE_ALLREDUCE,
        .tensors = (uint32_t)run->model.tensor_count,
        .elements = run->model.count,
        .bytes = bytes,
    };
    snprintf(reduces->algorithm, sizeof reduces->algorithm, "%s",
             algorithm_name(choice_for(choice, bytes)));
}

static int check_build(struct run *run, const struct comm_config *config)
{
    run->exit_code = EXIT_USAGE;
    int error = rendezvous_check(config, &run->fail);
    if (!error)
        run->exit_code = EXIT_RUN_FAILED;
    return error;
}

static void on_wait(void *context, const char *text)
{
    record_wait(context, text);
}

int meet(struct comm **comm, struct run *run)
{
    struct choice choice;
    int error = meet_choice(run, &choice);
    if (!error)
        error = check_link(run);
    if (error)
        return error;
    struct comm_config config = {
        .timeout_seconds = run->options.timeout,
        .fingerprint = options_fingerprint(&run->options) ^ compare_hash(&choice, sizeof choice),
        .log = stderr,
        .transport = (enum comm_transport)run->options.transport,
        .link = run->options.link_spec,
        .seed = run->options.seed,
        .memory = &run->memory,
    };
    error = check_build(run, &config);
    if (!error)
        error = comm_open(comm, &run->environment, &config, &run->fail);
    if (!error)
        comm_set_choice(*comm, &choice);
    if (!error && run->options.record)
        comm_set_watch(*comm, &(struct comm_watch){on_wait, &run->record});
    if (run->options.lesson == 2)
        describe_allreduce(run, &choice);
    run->gather = gather_numbers;
    run->context = *comm;
    return error;
}

static bool is_watched(const struct run *run)
{
    static const uint8_t none[ENVIRONMENT_TOKEN_BYTES];
    return memcmp(run->environment.token, none, sizeof none) != 0;
}

static void told_to_end(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

static void waited_enough(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Whoever watches the job takes the rank that ends first for the cause. One that only lost its peer lets the
 * peer go first, which may take a while: it waits until it is told to end, as launchers do with a failed
 * rank's neighbours, or for five seconds. Started by hand it is told by nobody. By libuv, for a signal
 * that is blocked or waited for in one thread still ends the process in another (lesson 3 has more). */
static void let_the_cause_end(const struct run *run)
{
    enum { WATCHED_MS = 5000, ALONE_MS = 100 };
    uv_loop_t loop;
    uv_signal_t signal;
    uv_timer_t timer;
    if (uv_loop_init(&loop) != 0)
        return;
    if (uv_signal_init(&loop, &signal) == 0) {
        uv_timer_init(&loop, &timer);
        uv_signal_start(&signal, told_to_end, SIGTERM); // to end with this rank's own code
        uv_timer_start(&timer, waited_enough, is_watched(run) ? WATCHED_MS : ALONE_MS, 0);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_close((uv_handle_t *)&signal, NULL);
        uv_close((uv_handle_t *)&timer, NULL);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    uv_loop_close(&loop);
}

/* The others wait for this rank in a call that it will not make. (Most failures are decisions of all, and some
 * rank may still be in the call that told this one.) */
static void tell_others(const struct run *run, struct comm *comm)
{
    struct fail why = {0};
    fail_set(&why, run->fail.code, "rank %d: %s", run->environment.rank, run->fail.text);
    comm_stop(comm, &why);
}

/* What the communicator says of others is no failure of this rank's, by whichever way it got here. */
static bool is_of_others(const struct run *run, const struct comm *comm)
{
    if (!comm || comm_fail(comm)->code == 0)
        return run->fail.code == FAIL_ELSEWHERE;
    return run->fail.code == FAIL_ELSEWHERE ||
           (!comm_stopped(comm) && strcmp(run->fail.text, comm_fail(comm)->text) == 0);
}

void meet_report(struct run *run, struct comm *comm)
{
    const struct fail *fail = comm ? comm_fail(comm) : NULL;
    if (fail && fail->code == 0 && run->fail.code != 0 && run->unheard &&
        run->fail.code != FAIL_ELSEWHERE)
        tell_others(run, comm);
    if (fail && fail->code != 0)
        fail_set(&run->fail, fail->code, "%s", fail->text);
    if (is_of_others(run, comm))
        let_the_cause_end(run);
}
