/*
 * run_resume: a run that goes on where another one stopped.
 *
 * `--resume auto` is for jobs that are started again by whatever watches over them: the first start
 * finds no checkpoint and begins at the beginning, a later one goes on from the last.
 */
#include "lesson01_single/run.h"

#include <errno.h>
#include <string.h>

static bool resumes_what_there_is(const struct options *options)
{
    return options->resume && strcmp(options->resume, "auto") == 0;
}

/* After a restart there is nothing wrong with a job that had finished; by hand it is a mistake. */
static int check_updates(struct run *run, const char *directory)
{
    size_t made = run->optimizer.updates;
    if (made < run->updates || (made == run->updates && resumes_what_there_is(&run->options)))
        return 0;
    run->exit_code = EXIT_USAGE;
    return fail_set(&run->fail, -EINVAL,
                    "--resume %s: %zu update%s made already and this run has %zu: give "
                    "more --epochs or --steps",
                    directory, made, made == 1 ? " was" : "s were", run->updates);
}

/* A rank that reads another folder, or none, would begin elsewhere. */
static int compare_updates(struct run *run)
{
    double mine = (double)run->optimizer.updates, all[ENVIRONMENT_WORLD_MOST];
    int error = run_share(run, &mine, 1, all);
    for (int rank = 1; rank < run->environment.world && !error; rank++)
        if (all[rank] != all[0])
            error =
                fail_set(&run->fail, -EINVAL,
                         "--resume %s: rank 0 has a checkpoint of %.0f updates and rank %d one of "
                         "%.0f: all ranks must read the same folder",
                         run->options.resume, all[0], rank, all[rank]);
    return error;
}

int run_resume(struct run *run)
{
    const struct options *options = &run->options;
    const char *directory = options->resume;
    if (resumes_what_there_is(options))
        directory = checkpoint_exists(options->save) ? options->save : NULL;
    struct checkpoint checkpoint = run_checkpoint(run);
    int error = directory ? checkpoint_load(&checkpoint, directory, &run->fail) : 0;
    if (!error)
        error = check_updates(run, directory);
    return error || !options->resume ? error : compare_updates(run);
}
