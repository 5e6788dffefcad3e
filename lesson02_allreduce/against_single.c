/* against_single: is the ring's gradient lesson 1's? See the header. */
#include "lesson02_allreduce/against_single.h"
#include "lesson01_single/prove.h"
#include "lesson02_allreduce/agree.h"
#include "lesson02_allreduce/replay.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int against_single_init(struct against_single *against, struct run *run, const struct trainer *of)
{
    *against = (struct against_single){.memory = &run->proving};
    if (run->options.verify == 0)
        return 0;
    size_t count = run->model.count, world = (size_t)run->environment.world;
    size_t batch = run->sampler.batch;
    struct trainer like = *of;
    like.recompute = 1; // all kept: what is computed again is held against it
    like.listener = (struct model_listener){0};
    int error = trainer_init(&against->replay, &like,
                             batch < run->train.count ? batch : run->train.count, &run->proving);
    if (!error)
        error = bound_init(&against->bound, &run->model, &run->proving);
    if (error)
        return fail_set(&run->fail, error, "no memory to verify with: try --no-verify");
    against->shares = memory_floats(&run->proving, MEMORY_OTHER, world * count);
    against->sum = memory_floats(&run->proving, MEMORY_OTHER, count);
    against->before = memory_floats(&run->proving, MEMORY_OTHER, count);
    if (against->shares && against->sum && against->before)
        return 0;
    return fail_set(&run->fail, -ENOMEM, "no memory to verify with: try --no-verify");
}

void against_single_release(struct against_single *against)
{
    if (against->replay.model) {
        size_t count = against->replay.model->count, world = against->replay.world;
        memory_return(against->memory, MEMORY_OTHER, against->shares, world * count);
        memory_return(against->memory, MEMORY_OTHER, against->sum, count);
        memory_return(against->memory, MEMORY_OTHER, against->before, count);
    }
    bound_release(&against->bound);
    trainer_release(&against->replay);
    *against = (struct against_single){0};
}

/* What lesson 1 computes of the samples of `rank` of `world`, into grad. */
static void replay_rank(struct against_single *against, const struct step *step, size_t rank,
                        size_t world, float *grad)
{
    struct trainer trainer = against->replay;
    trainer.rank = rank;
    trainer.world = world;
    trainer.grad = grad;
    trainer_gradient(&trainer, step);
}

static void prove_shares(struct against_single *against, struct run *run, const struct step *step,
                         enum algorithm algorithm)
{
    char what[128];
    size_t count = run->model.count, world = run->trainer.world;
    const void *shares[ENVIRONMENT_WORLD_MOST];
    for (size_t rank = 0; rank < world; rank++) {
        replay_rank(against, step, rank, world, against->shares + rank * count);
        shares[rank] = against->shares + rank * count;
    }
    struct replay replay = {shares, world, count, COMM_F32, COMM_SUM};
    replay_allreduce(&replay, algorithm, against->sum);
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = run->grad,
        .expected = against->sum,
        .before = against->steps > 0 ? against->before : NULL,
    };
    prove_pair(&prove, &pair);
    snprintf(what, sizeof what, "gradient after the %s = lesson 1's shares added in %s order",
             algorithm_name(algorithm), algorithm_name(algorithm));
    prove_end(&prove, run, step, what);
    memcpy(against->before, against->sum, count * sizeof *against->sum);
}

/* Both sides are float computations, each within the bound of the truth. */
static const char *expect_lesson_1(struct against_single *against, const struct step *step,
                                   float *whole)
{
    replay_rank(against, step, 0, 1, whole);
    for (size_t i = 0; i < against->replay.model->count; i++)
        against->bound.bound[i] *= 2;
    return "gradient after the sum ~ lesson 1's gradient of the whole batch";
}

/* Ranks that leave out layers of their own do together what no run of lesson 1 does. But the bound
 * comes with the true gradient, computed sample by sample in double; as a float it is off by half a
 * unit of its last place. */
static const char *expect_truth(struct against_single *against, float *whole)
{
    for (size_t i = 0; i < against->replay.model->count; i++) {
        double truth = against->bound.gradient[i];
        whole[i] = (float)truth;
        against->bound.bound[i] += fabs(truth) * 0x1p-24 + 0x1p-149;
    }
    return "gradient after the sum ~ the whole batch in double, each rank's layers left out";
}

void against_single_whole(struct against_single *against, struct run *run, const struct step *step,
                          const struct slice *owned, size_t owned_count)
{
    float *whole = against->sum;
    struct prove prove = {0};
    bound_step(&against->bound, &against->replay, step);
    const char *what = against->replay.layer_drop.rate > 0 ? expect_truth(against, whole)
                                                           : expect_lesson_1(against, step, whole);
    size_t passed = 0;
    for (size_t i = 0; i < owned_count; i++) {
        struct prove_pair pair = {
            .slice = owned[i],
            .found = run->grad + optimizer_grad_at(&run->optimizer, owned[i].begin, passed),
            .expected = whole + owned[i].begin,
            .bound = against->bound.bound + owned[i].begin,
        };
        prove_pair(&prove, &pair);
        passed += owned[i].count;
    }
    prove_end(&prove, run, step, what);
}

int against_single_gradient(struct against_single *against, struct run *run, struct comm *comm,
                            const struct step *step)
{
    size_t bytes = run->model.count * sizeof(float);
    prove_shares(against, run, step, choice_for(comm_choice(comm), bytes));
    against_single_whole(against, run, step, &run->whole, 1);
    int error = agree(run, comm, step, "gradient = the gradient of every other rank", run->grad,
                      against->sum);
    against->steps++;
    return error ? error : run_judge(run, step);
}

int against_single_parameters(struct against_single *against, struct run *run, struct comm *comm,
                              const struct step *step)
{
    int error = agree(run, comm, step, "parameters = the parameters of every other rank",
                      run->param, against->sum);
    return error ? error : run_judge(run, step);
}
