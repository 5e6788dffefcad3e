/* run_open: options, data, model, parameters. Bad input is refused here, before anything is
 * started. */
#include "common/clock.h"
#include "common/standard_files.h"
#include "common/sync.h"
#include "common/zoo.h"
#include "lesson01_single/checkpoint.h"
#include "lesson01_single/dump.h"
#include "lesson01_single/freeze.h"
#include "lesson01_single/run.h"
#include "lesson01_single/run_trace.h"
#include "lesson01_single/tie.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* Widths when --hidden is not given: what the data needs to be learnt well. */
static void default_hidden(struct options *options, const struct dataset *train)
{
    if (options->hidden_given || train->task == TASK_REGRESS)
        return;
    options->hidden_count = 1;
    options->hidden[0] = 64;
    if (strcmp(options->data, "fashion-mnist") == 0) {
        options->hidden_count = 2;
        options->hidden[0] = 256;
        options->hidden[1] = 128;
    }
}

static int plan_model(struct run *run)
{
    const struct options *options = &run->options;
    size_t widths[MODEL_LAYERS_MOST + 1], weight_from[MODEL_LAYERS_MOST], layers = 0;
    widths[layers++] = run->train.width;
    for (size_t i = 0; i < options->hidden_count; i++)
        widths[layers++] = options->hidden[i];
    widths[layers] = run->train.outputs;
    int error = tie_read(options->tie, widths, layers, weight_from, &run->fail);
    if (error)
        return error;
    model_plan_tied(&run->model, widths, layers, options->bias, weight_from);
    run->whole = (struct slice){.begin = 0, .count = run->model.count};
    error = freeze(&run->model, options->freeze, &run->fail);
    run->trained_count = freeze_trained(&run->model, run->trained);
    if (!error && options->layer_drop > 0 && !layer_drop_may_any(&run->model))
        error = fail_set(&run->fail, -EINVAL,
                         "--layer-drop: no hidden layer has as many outputs as inputs, so none may "
                         "be left out; give --hidden two equal widths in a row, as in 64,64");
    return error;
}

uint64_t run_weights_seed(const struct run *run)
{
    bool own = zoo_has(&run->options, ZOO_SEED_PER_RANK); // a mistake
    return run->options.seed + (own ? (uint64_t)run->environment.rank : 0);
}

int run_init_values(struct run *run, struct slice slice, float *values)
{
    const struct options *options = &run->options;
    if (strcmp(options->init, "he") == 0)
        model_init_he_part(&run->model, slice, values, run_weights_seed(run));
    else if (strncmp(options->init, "const:", 6) == 0)
        for (size_t i = 0; i < slice.count; i++)
            values[i] = options->init_value;
    else
        return checkpoint_load_parameters(options->init, &run->model, slice, values, &run->fail);
    return 0;
}

/* The slabs. From stage 2 on ZeRO keeps no whole one of gradients, from 3 on none of parameters. */
static int init_parameters(struct run *run)
{
    int stage = run->options.stage;
    if (stage < 3)
        run->param = memory_floats(&run->memory, MEMORY_PARAMETERS, run->model.count);
    if (stage < 2)
        run->grad = memory_floats(&run->memory, MEMORY_GRADIENTS, run->model.count);
    if ((stage < 3 && !run->param) || (stage < 2 && !run->grad))
        return fail_set(&run->fail, -ENOMEM, "no memory for %zu parameters: try a smaller --hidden",
                        run->model.count);
    return run->param ? run_init_values(run, run->whole, run->param) : 0;
}

/* This rank's share of a micro-batch is at most the longest slice of it. */
static int init_trainer(struct run *run)
{
    size_t world = (size_t)run->environment.world;
    size_t most = run->sampler.batch < run->train.count ? run->sampler.batch : run->train.count;
    run->scale = loss_scale_first(&run->options);
    struct trainer like = {
        .model = &run->model,
        .dataset = &run->train,
        .sampler = &run->sampler,
        .rank = (size_t)run->environment.rank,
        .world = world,
        .dropout = {.rate = (float)run->options.dropout, .seed = run->options.seed},
        .recompute = run->options.recompute,
        .layer_drop = {.rate = run->options.layer_drop, .seed = run->options.seed},
        .param = run->param,
        .grad = run->grad,
        .precision = {.kind = run->options.precision, .scale = &run->scale},
    };
    int error = trainer_init(&run->trainer, &like, slice_of(most, world, 0).count, &run->memory);
    run->activation_bytes = run->memory.now_bytes[MEMORY_ACTIVATIONS];
    if (error)
        return fail_set(&run->fail, error, "no memory for the activations of %zu samples", most);
    return 0;
}

/* Room for what is planted; without --inject nobody asks. */
static int init_mistakes(struct run *run)
{
    if (!run->options.inject)
        return 0;
    const struct environment *environment = &run->environment;
    int error = mistakes_init(&run->mistakes, &run->options, environment->rank, environment->world,
                              run->model.count);
    if (error)
        return fail_set(&run->fail, error, "no memory for --inject");
    mistakes_spoil(&run->mistakes, &run->train);
    run->trainer.mistakes = &run->mistakes;
    return 0;
}

/* What the sampler takes the command line to say. */
static struct options sampled_options(const struct run *run)
{
    struct options options = run->options;
    if (zoo_has(&options, ZOO_BATCH_NOT_DIVIDED)) // a mistake: each rank takes so many
        options.batch *= (size_t)run->environment.world;
    return options;
}

static int init_sampler(struct run *run)
{
    struct options options = sampled_options(run);
    int error = sampler_init(&run->sampler, run->train.count, &options, &run->memory, &run->fail);
    if (zoo_has(&options, ZOO_SHUFFLE_PER_RANK)) // a mistake
        run->sampler.order_seed += (uint64_t)run->environment.rank;
    return error;
}

static int count_updates(struct run *run)
{
    size_t per_epoch = run->sampler.steps_per_epoch;
    run->updates = run->options.steps > 0 ? run->options.steps : run->options.epochs * per_epoch;
    if (run->options.steps == 0 && run->updates / per_epoch != run->options.epochs)
        return fail_set(&run->fail, -EINVAL, "--epochs %zu times %zu updates is too many to count",
                        run->options.epochs, per_epoch);
    return 0;
}

static int check_mistakes(struct run *run)
{
    struct mistakes_place place = {.options = &run->options,
                                   .sampler = &run->sampler,
                                   .world = (size_t)run->environment.world,
                                   .updates = run->updates,
                                   .test_samples = run->test.count};
    return mistakes_check(&place, &run->fail);
}

/* Only making a file shows that one can be made: permissions do not speak for every system. */
static int check_writable(const char *directory, struct fail *fail)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/update.try-XXXXXX", directory);
    errno = ENAMETOOLONG;
    int file = length < PATH_BYTES ? mkstemp(path) : -1;
    if (file < 0)
        return fail_set(fail, -errno, "--save: cannot write into %s: %s", directory,
                        strerror(errno));
    close(file);
    unlink(path);
    return 0;
}

/* A new folder's own name is to last as well. No error if it cannot be had: not every parent may be read. */
static void sync_parent(const char *directory)
{
    char parent[PATH_BYTES];
    int length = snprintf(parent, sizeof parent, "%s/..", directory);
    if (length < PATH_BYTES)
        sync_folder(parent);
}

/* A directory that cannot be made or written is told now, not after an hour's training. */
static int open_directories(struct run *run)
{
    const char *save = run->options.save;
    if (save && mkdir(save, 0777) == 0)
        sync_parent(save);
    else if (save && errno != EEXIST)
        return fail_set(&run->fail, -errno, "--save: cannot make the directory %s: %s", save,
                        strerror(errno));
    int error = save ? check_writable(save, &run->fail) : 0;
    if (error)
        return error;
    if (!run->options.dump)
        return 0;
    struct dump dump = {.options = &run->options, .rank = run->environment.rank};
    return dump_open(&dump, &run->fail);
}

static int plan(struct run *run)
{
    struct options *options = &run->options;
    int error = dataset_load(&run->train, &run->test, options, &run->memory, &run->fail);
    if (error)
        return error;
    default_hidden(options, &run->train);
    run->exit_code = EXIT_USAGE; // what fails here was asked for by a flag
    error = plan_model(run);
    if (!error)
        error = init_sampler(run);
    if (!error)
        error = count_updates(run);
    if (!error)
        error = check_mistakes(run);
    if (!error)
        run->exit_code = EXIT_RUN_FAILED;
    return error;
}

int run_build(struct run *run)
{
    int error = run_trace_open(run);
    if (!error)
        error = init_parameters(run);
    if (!error)
        error = init_trainer(run);
    if (!error)
        error = init_mistakes(run);
    return error ? error : open_directories(run);
}

int run_prepare(struct run *run, int lesson, int argc, char **argv)
{
    standard_files_occupy();
    setvbuf(stdout, NULL, _IOLBF, 0); // a killed rank's last line is shown too
    *run = (struct run){.environment = {.world = 1, .local_world = 1}, .exit_code = EXIT_USAGE};
    int error = options_parse(&run->options, lesson, argc, argv, &run->fail);
    if (error || run->options.help || run->options.version)
        return 1;
    if (lesson > 1)
        error = environment_read(&run->environment, &run->fail);
    if (!error)
        error = zoo_check_world(&run->options, run->environment.world, &run->fail);
    if (error)
        return error;
    if (run->options.per_rank_batch > 0)
        run->options.batch = run->options.per_rank_batch * (size_t)run->environment.world;
    bool first = run->environment.rank == 0;
    proof_init(&run->proof, first ? stdout : stderr, run->environment.rank, run->options.quiet);
    progress_begin(&run->progress, first && !run->options.quiet ? stdout : NULL,
                   run->options.progress);
    run->exit_code = EXIT_RUN_FAILED;
    run->began_seconds = clock_seconds();
    run->test_loss = run->accuracy = run->loss = NAN;
    return plan(run);
}

int run_open(struct run *run, int lesson, int argc, char **argv)
{
    int stop = run_prepare(run, lesson, argc, argv);
    return stop ? stop : run_build(run);
}
