/* run_trace: a run's --trace and --profile. See the header. */
#include "lesson01_single/run_trace.h"
#include "common/clock.h"
#include "common/trace_file.h"
#include "lesson01_single/trace_merge.h"

#include <errno.h>

enum { WORLD_MOST = ENVIRONMENT_WORLD_MOST };

static bool many(const struct run *run)
{
    return run->environment.world > 1;
}

int run_trace_open(struct run *run)
{
    if (run->options.profile)
        run->profile = &run->kept_profile;
    if (!run->options.trace)
        return 0;
    int error = trace_init(&run->kept_trace, &run->memory);
    if (error)
        return fail_set(&run->fail, error, "no memory for --trace");
    run->trace = &run->kept_trace;
    return 0;
}

/* An empty trace, whole from the first moment on. */
static int make_file(struct run *run, const char *path)
{
    struct trace_file file;
    int error = trace_file_open(&file, path, &run->fail);
    return error ? error : trace_file_close(&file, 0, &run->fail);
}

static int own_path(struct run *run, char path[RANK_PATH_BYTES])
{
    int error = rank_path(path, run->options.trace, run->environment.rank, run->environment.world);
    return error
               ? fail_set(&run->fail, error, "--trace: the path is longer than %d bytes: %.60s...",
                          RANK_PATH_BYTES - 1, run->options.trace)
               : 0;
}

static int make_files(struct run *run)
{
    char path[RANK_PATH_BYTES];
    int error = own_path(run, path);
    if (!error)
        error = make_file(run, path);
    if (!error && many(run) && run->environment.rank == 0)
        error = make_file(run, run->options.trace);
    return error;
}

/* See the header: when is ts 0? */
static int agree_on_origin(struct run *run)
{
    const struct environment *environment = &run->environment;
    double mine = clock_seconds(), all[WORLD_MOST];
    int error = run_share(run, &mine, 1, all);
    if (error)
        return error;
    bool apart = environment->local_world > 0 && environment->local_world < environment->world;
    run->trace->origin_seconds = apart ? clock_seconds() : all[0];
    return 0;
}

int run_trace_start(struct run *run)
{
    run->trainer.trace = run->optimizer.trace = run->trace;
    run->trainer.profile = run->optimizer.profile = run->profile;
    if (!run->trace)
        return 0;
    int error = make_files(run);
    return error ? error : agree_on_origin(run);
}

static int finish_profile(struct run *run)
{
    const struct profile *profile = run->profile;
    double all[WORLD_MOST * PROFILE_COSTS];
    struct profile_table table = {.steps = profile->steps, .world = run->environment.world};
    if (profile->steps == 0) {
        if (run->environment.rank == 0 && !run->options.quiet)
            printf("profile: every update was verified, and such an update is not counted: give "
                   "more --steps, or --no-verify\n");
        return 0;
    }
    table.laps = profile->laps / profile->steps;
    table.lap_seconds = profile_lap_seconds();
    for (int cost = 0; cost < PROFILE_COSTS; cost++)
        table.mine[cost] = 1e6 * profile->seconds[cost] / (double)profile->steps;
    int error = run_share(run, table.mine, PROFILE_COSTS, all);
    if (error || run->environment.rank > 0 || run->options.quiet)
        return error;
    for (int i = 0; i < run->environment.world * PROFILE_COSTS; i++) {
        double *least = &table.least[i % PROFILE_COSTS], *most = &table.most[i % PROFILE_COSTS];
        *least = i < PROFILE_COSTS || all[i] < *least ? all[i] : *least;
        *most = all[i] > *most ? all[i] : *most;
    }
    profile_print(&table, stdout);
    return 0;
}

int run_trace_finish(struct run *run)
{
    int error = 0;
    progress_clear(&run->progress);
    if (run->profile)
        error = finish_profile(run);
    if (!error && run->trace)
        error = trace_merge(run);
    return error;
}

void run_trace_close(struct run *run)
{
    char path[RANK_PATH_BYTES];
    struct trace_file file;
    if (!run->trace)
        return;
    const struct trace_event *event;
    struct trace_reader reader = {.trace = run->trace, .first_step = trace_first_step(run->trace)};
    int error = run->step_seconds > 0 ? own_path(run, path) : -ECANCELED; // no step, no file
    if (!error)
        error = trace_file_open(&file, path, &run->fail);
    if (!error) {
        trace_file_rank(&file, run->environment.rank);
        while ((event = trace_next(&reader)) != NULL)
            trace_file_event(&file, run->environment.rank, event, run->trace->origin_seconds);
        trace_file_close(&file, reader.first_step, &run->fail);
    }
    trace_release(run->trace);
    run->trace = NULL;
}
