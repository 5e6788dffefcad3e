/* against_ddp: does sharding change nothing but who keeps what? See the header. */
#include "lesson04_zero/against_ddp.h"
#include "lesson01_single/norm.h"
#include "lesson01_single/prove.h"
#include "lesson01_single/schedule.h"
#include "lesson02_allreduce/agree.h"

#include <errno.h>
#include <string.h>

static int take_memory(struct against_ddp *against, struct run *run)
{
    size_t rows = run->trainer.activations.capacity;
    against->count = run->model.count;
    against->param = memory_floats(against->memory, MEMORY_PARAMETERS, against->count);
    against->grad = memory_floats(against->memory, MEMORY_GRADIENTS, against->count);
    against->before = memory_floats(against->memory, MEMORY_OTHER, against->count);
    if (!against->param || !against->grad || !against->before)
        return -ENOMEM;
    struct trainer like = run->trainer;
    like.param = against->param;
    like.grad = against->grad;
    like.places = NULL;
    like.recompute = 1; // all kept: what is computed again is held against it
    like.listener = ddp_listener(&against->ddp);
    int error = trainer_init(&against->trainer, &like, rows, against->memory);
    struct options all = run->options;
    all.offload = NULL; // lesson 3 keeps everything in memory
    if (!error)
        error =
            optimizer_init(&against->optimizer, &all, &run->model, &run->whole, 1, against->memory);
    against->owned = memory_floats(against->memory, MEMORY_OTHER, run->optimizer.count);
    against->owned_count = run->optimizer.count;
    return error || against->owned ? error : -ENOMEM;
}

/* The replica begins where this run begins. */
static int copy_state(struct against_ddp *against, struct run *run, const struct zero *zero)
{
    int error = zero_gather_param(zero, against->param);
    against->optimizer.updates = run->optimizer.updates;
    against->optimizer.skipped = run->optimizer.skipped;
    for (size_t i = 0; i < run->optimizer.states && !error; i++)
        error = zero_gather_state(zero, i, against->optimizer.state[i], &run->fail);
    return error;
}

int against_ddp_init(struct against_ddp *against, struct run *run, const struct zero *zero)
{
    *against = (struct against_ddp){.memory = &run->proving};
    if (run->options.verify == 0)
        return 0;
    int error = take_memory(against, run);
    if (error)
        return fail_set(&run->fail, error, "no memory to verify with: try --no-verify");
    against->ddp.grad = against->grad;
    against->ddp.reduce = ddp_allreduce;
    error = ddp_init_over(&against->ddp, run, zero->ddp.comm, against->memory);
    if (!error)
        error =
            against->ddp.compresses
                ? against_float_init(&against->compressed, run, &against->ddp, &against->trainer)
                : against_single_init(&against->single, run, &against->trainer);
    return error ? error : copy_state(against, run, zero);
}

void against_ddp_release(struct against_ddp *against)
{
    ddp_stop(&against->ddp);
    against_single_release(&against->single);
    against_float_release(&against->compressed);
    trainer_release(&against->trainer);
    optimizer_release(&against->optimizer);
    memory_return(against->memory, MEMORY_PARAMETERS, against->param, against->count);
    memory_return(against->memory, MEMORY_GRADIENTS, against->grad, against->count);
    memory_return(against->memory, MEMORY_OTHER, against->before, against->count);
    memory_return(against->memory, MEMORY_OTHER, against->owned, against->owned_count);
    *against = (struct against_ddp){0};
}

/* What is packed, and the owned slices of a slab. */
static struct prove compare_packed(const struct zero *zero, const float *packed,
                                   const float *expected)
{
    struct prove prove = {0};
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        struct slice owned = zero->shard.owned[i];
        struct prove_pair pair = {
            .slice = owned, .found = packed, .expected = expected + owned.begin};
        prove_pair(&prove, &pair);
        packed += owned.count;
    }
    return prove;
}

/* The owned slices of two slabs. */
static struct prove compare_owned(const struct zero *zero, const float *found,
                                  const float *expected)
{
    struct prove prove = {0};
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        struct slice owned = zero->shard.owned[i];
        struct prove_pair pair = {
            .slice = owned, .found = found + owned.begin, .expected = expected + owned.begin};
        prove_pair(&prove, &pair);
    }
    return prove;
}

int against_ddp_gradient(struct against_ddp *against, struct run *run, const struct zero *zero,
                         const struct step *step)
{
    ddp_begin(&against->ddp);
    trainer_gradient(&against->trainer, step);
    int error = ddp_wait(&against->ddp, &run->fail);
    if (error)
        return error;
    struct prove prove = zero->stage < 2 ? compare_owned(zero, run->grad, against->grad)
                                         : compare_packed(zero, run->grad, against->grad);
    prove_end(&prove, run, step, "owned gradient chunks = those of lesson 3's gradient");
    if (against->ddp.compresses)
        error = against_float_gradient(&against->compressed, run, &against->ddp, step);
    else
        against_single_whole(&against->single, run, step, zero->shard.owned,
                             zero->shard.owned_count);
    return error ? error : run_judge(run, step);
}

/* A norm has no elements to look at: what can be wrong with it is what was counted. */
static void prove_norm(struct run *run, const struct step *step, double expected)
{
    char how[160];
    bool equal = run->norm == expected;
    if (equal)
        snprintf(how, sizeof how, "bit for bit, %.9g", expected);
    else
        snprintf(how, sizeof how,
                 "found %.17g on rank %d, expected %.17g: elements counted that are not owned, or "
                 "not counted",
                 run->norm, run->environment.rank, expected);
    progress_clear(&run->progress);
    proof_holds(&run->proof, step->index, "norm of the owned chunks = lesson 3's norm", how, equal);
}

/* Lesson 3's update, as its main.c makes it. */
static void update(struct against_ddp *against, struct run *run, const struct step *step)
{
    double norm = run_wants_norm(run) ? norm_of(against->grad, against->count) : 0;
    if (run_wants_norm(run))
        prove_norm(run, step, norm);
    memcpy(against->before, against->param, against->count * sizeof *against->param);
    size_t made = against->optimizer.updates - against->optimizer.skipped;
    struct rate rate = {
        .lr = (float)schedule_lr(&run->options, made, run->updates),
        .clip = norm_clip(norm, run->options.clip),
    };
    optimizer_step(&against->optimizer, against->param, against->grad, rate);
}

static int compare_states(struct against_ddp *against, struct run *run, const struct zero *zero,
                          const struct step *step)
{
    struct slice all = {.begin = 0, .count = run->optimizer.count};
    for (size_t i = 0; i < run->optimizer.states; i++) {
        char what[64];
        int error = optimizer_read(&run->optimizer, i, all, against->owned, &run->fail);
        if (error)
            return error;
        snprintf(what, sizeof what, "owned %s = that part of lesson 3's",
                 optimizer_state_name(&run->optimizer, i));
        struct prove prove = compare_packed(zero, against->owned, against->optimizer.state[i]);
        prove_end(&prove, run, step, what);
    }
    return 0;
}

/* What every rank holds, whole. */
static int prove_replica(const struct against_ddp *against, struct run *run,
                         const struct zero *zero, const struct step *step)
{
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = run->param,
        .expected = against->param,
        .before = against->before,
    };
    prove_pair(&prove, &pair);
    prove_end(&prove, run, step, "parameters = lesson 3's parameters");
    return agree(run, zero->ddp.comm, step, "parameters = the parameters of every other rank",
                 run->param, against->before);
}

/* In stage 3 nothing is whole but what stays; what a layer gathers shows in the next gradient. */
static int prove_parameters(const struct against_ddp *against, struct run *run,
                            const struct zero *zero, const struct step *step)
{
    if (zero->stage < 3)
        return prove_replica(against, run, zero, step);
    struct slice all = {.begin = 0, .count = run->optimizer.count};
    int error = run_read_param(run, all, against->owned, &run->fail);
    if (error)
        return error;
    struct prove prove = compare_packed(zero, against->owned, against->param);
    prove_end(&prove, run, step, "owned parameters = that part of lesson 3's");
    return 0;
}

int against_ddp_update(struct against_ddp *against, struct run *run, const struct zero *zero,
                       const struct step *step)
{
    update(against, run, step);
    int error = compare_states(against, run, zero, step);
    if (!error)
        error = prove_parameters(against, run, zero, step);
    return error ? error : run_judge(run, step);
}
