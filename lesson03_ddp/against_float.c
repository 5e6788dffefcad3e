/* against_float: how far are compressed buckets from the float gradient? See the header. */
#include "lesson03_ddp/against_float.h"
#include "common/half.h"
#include "lesson01_single/prove.h"
#include "lesson01_single/reference.h"
#include "lesson02_allreduce/allreduce.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int take_slabs(struct against_float *against, struct run *run)
{
    size_t count = run->model.count;
    float **slabs[] = {&against->mine, &against->whole, &against->sizes, &against->before};
    int error = 0;
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs && !error; i++) {
        *slabs[i] = memory_floats(&run->memory, MEMORY_OTHER, count);
        error = *slabs[i] ? 0 : -ENOMEM;
    }
    against->bound = reference_doubles(&run->memory, count);
    return against->bound ? error : -ENOMEM;
}

int against_float_init(struct against_float *against, struct run *run, const struct ddp *ddp)
{
    *against = (struct against_float){.memory = &run->memory};
    struct trainer like = run->trainer;
    like.recompute = 1; // all kept: what is computed again is held against it
    like.listener = (struct model_listener){0};
    int error =
        trainer_init(&against->replay, &like, run->trainer.activations.capacity, &run->memory);
    if (!error)
        error = take_slabs(against, run);
    if (error)
        return fail_set(&run->fail, error, "no memory to verify with: try --no-verify");
    error = ddp_compress_init(&against->compress, run, &run->memory);
    if (!error && ddp->compress.residual)
        memcpy(against->compress.residual, ddp->compress.residual,
               run->model.count * sizeof *ddp->compress.residual);
    return error;
}

void against_float_release(struct against_float *against)
{
    if (against->replay.model) {
        size_t count = against->replay.model->count;
        memory_return(against->memory, MEMORY_OTHER, against->mine, count);
        memory_return(against->memory, MEMORY_OTHER, against->whole, count);
        memory_return(against->memory, MEMORY_OTHER, against->sizes, count);
        memory_return(against->memory, MEMORY_OTHER, against->before, count);
        reference_return(against->memory, against->bound, count);
    }
    compress_release(&against->compress);
    trainer_release(&against->replay);
    *against = (struct against_float){0};
}

static int sum_up(struct comm *comm, float *slab, size_t count)
{
    return allreduce(comm, slab, slab, count, COMM_F32, COMM_SUM);
}

/* mine = this rank's gradient; whole = the sum of all v, sizes of all |v|. */
static int replay(struct against_float *against, struct comm *comm, const struct step *step)
{
    size_t count = against->replay.model->count;
    const float *e = against->compress.residual;
    against->replay.grad = against->mine;
    trainer_gradient(&against->replay, step);
    for (size_t i = 0; i < count; i++) {
        against->whole[i] = e ? against->mine[i] + e[i] : against->mine[i];
        against->sizes[i] = fabsf(against->whole[i]);
    }
    int error = sum_up(comm, against->whole, count);
    return error ? error : sum_up(comm, against->sizes, count);
}

/* Line 1: the gradient, and where there is one, what is kept back. */
static int prove_same(struct against_float *against, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    struct prove prove = {0};
    for (size_t i = 0; i < ddp->plan.count; i++) {
        int error = compress_allreduce(&against->compress, ddp->comm, against->mine,
                                       ddp->plan.buckets[i].slice);
        if (error)
            return error;
    }
    struct prove_pair gradient = {
        .slice = run->whole,
        .found = ddp->grad,
        .expected = against->mine,
        .before = against->steps > 0 ? against->before : NULL,
    };
    struct prove_pair kept = {
        .slice = run->whole,
        .found = ddp->compress.residual,
        .expected = against->compress.residual,
    };
    prove_pair(&prove, &gradient);
    if (kept.found)
        prove_pair(&prove, &kept);
    prove_end(&prove, run, step,
              kept.found ? "compressed buckets, and what is kept back = the same after backward"
                         : "compressed buckets = the same compression after backward");
    memcpy(against->before, against->mine, run->model.count * sizeof *against->mine);
    return 0;
}

/* The quantities of the header, for one element. */
struct sizes {
    double gamma, a, c, t, r, e; // g, A, C, T, R, E
};

static struct sizes sizes_of(double added, size_t world)
{
    const double n = 0x1p-24, u = HALF_BF16_UNIT, s = HALF_BF16_SMALLEST / 2, ranks = (double)world;
    double gamma = (ranks - 1) * n / (1 - (ranks - 1) * n);
    struct sizes sizes = {.gamma = gamma, .a = added / (1 - gamma)}; // added up in float itself
    sizes.c = (1 + u) * sizes.a + ranks * s;
    sizes.t = (1 + gamma) * sizes.c;
    sizes.r = (1 + u) * sizes.t + s;
    sizes.e = (1 + n) * (u * sizes.a + ranks * s + u * sizes.t + s);
    return sizes;
}

static double bound_1(const struct sizes *sizes, size_t world)
{
    const double u = HALF_BF16_UNIT, s = HALF_BF16_SMALLEST / 2;
    return u * sizes->a + (double)world * s + sizes->gamma * sizes->c + u * sizes->t + s +
           sizes->gamma * sizes->a;
}

static double bound_2(const struct sizes *sizes)
{
    const double n = 0x1p-24;
    return sizes->gamma * sizes->c + (n + sizes->gamma) * sizes->e +
           n * (sizes->r + (1 + sizes->gamma) * sizes->e) + sizes->gamma * sizes->a;
}

static void prove_near(struct against_float *against, struct run *run, const float *found,
                       const struct step *step, const char *what)
{
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = found,
        .expected = against->whole,
        .bound = against->bound,
    };
    prove_pair(&prove, &pair);
    prove_end(&prove, run, step, what);
}

/* Line 2. */
static void prove_rounded(struct against_float *against, struct run *run, const struct ddp *ddp,
                          const struct step *step)
{
    size_t world = (size_t)run->environment.world;
    for (size_t i = 0; i < run->model.count; i++) {
        struct sizes sizes = sizes_of((double)against->sizes[i], world);
        against->bound[i] = bound_1(&sizes, world);
    }
    prove_near(against, run, ddp->grad, step,
               ddp->compress.residual
                   ? "compressed buckets ~ lesson 2's all-reduce of gradient + kept back"
                   : "compressed buckets ~ lesson 2's all-reduce of the float gradient");
}

/* Line 3. `mine` has been compared, and takes the sum of what is kept back, and the gradient. */
static int prove_kept(struct against_float *against, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    size_t count = run->model.count, world = (size_t)run->environment.world;
    memcpy(against->mine, ddp->compress.residual, count * sizeof *against->mine);
    int error = sum_up(ddp->comm, against->mine, count);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        struct sizes sizes = sizes_of((double)against->sizes[i], world);
        against->mine[i] += ddp->grad[i];
        against->bound[i] = bound_2(&sizes);
    }
    prove_near(against, run, against->mine, step,
               "compressed buckets + what is kept back now ~ gradient + what was");
    return 0;
}

int against_float_gradient(struct against_float *against, struct run *run, const struct ddp *ddp,
                           const struct step *step)
{
    int error = replay(against, ddp->comm, step);
    if (!error)
        error = prove_same(against, run, ddp, step);
    if (error)
        return error;
    prove_rounded(against, run, ddp, step);
    against->steps++;
    return ddp->compress.residual ? prove_kept(against, run, ddp, step) : 0;
}
