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

/* A mistake that would be none: at the end of an epoch there is nothing to repeat. */
static int check_repeats(struct run *run, const char *directory)
{
    bool ends = run->optimizer.updates % run->sampler.steps_per_epoch == 0;
    if (!ends || !zoo_has(&run->options, ZOO_RESUME_REPEATS_DATA))
        return 0;
    run->exit_code = EXIT_USAGE;
    return fail_set(&run->fail, -EINVAL,
                    "--inject resume-repeats-data: %s was saved at the end of an epoch, so nothing "
                    "would be repeated; --save-every another number of updates than %zu",
                    directory, run->sampler.steps_per_epoch);
}

/* A rank that cannot go on stops all; one that reads another folder, or none, would begin elsewhere. */
static int compare_updates(struct run *run, int error)
{
    double mine = error ? -1 : (double)run->optimizer.updates, all[ENVIRONMENT_WORLD_MOST];
    int broken = run_share(run, &mine, 1, all);
    if (error || broken)
        return error ? error : broken;
    for (int rank = 0; rank < run->environment.world && !error; rank++)
        if (all[rank] < 0)
            error = fail_set(&run->fail, FAIL_ELSEWHERE,
                             "--resume %s: rank %d cannot go on, and says why", run->options.resume,
                             rank);
        else if (all[rank] != all[0])
            error =
                fail_set(&run->fail, -EINVAL,
                         "--resume %s: rank 0 has a checkpoint of %.0f updates and rank %d one of "
                         "%.0f: all ranks must read the same folder",
                         run->options.resume, all[0], rank, all[rank]);
    return error;
}

/* The folder to go on from, or NULL: there is none, and that is no error. */
static int find_directory(struct run *run, const char **directory)
{
    char path[SHELF_PATH_BYTES];
    *directory = run->options.resume;
    if (!resumes_what_there_is(&run->options))
        return 0;
    *directory = run->options.save;
    int error = shelf_latest(path, *directory, &run->fail);
    if (error != -ENOENT)
        return error;
    *directory = NULL;
    return 0;
}

int run_resume(struct run *run)
{
    struct checkpoint checkpoint;
    const char *directory;
    if (!run->options.resume)
        return 0;
    int error = find_directory(run, &directory);
    run_checkpoint(run, true, &checkpoint);
    if (!error && directory)
        error = checkpoint_load(&checkpoint, directory, &run->source, &run->fail);
    if (!error && directory)
        error = mistakes_forget(run->trainer.mistakes, &run->optimizer, &run->fail);
    if (!error && directory)
        error = check_updates(run, directory);
    if (!error && directory)
        error = check_repeats(run, directory);
    return compare_updates(run, error);
}
