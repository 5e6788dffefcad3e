/* against_float: how far are compressed buckets from the float gradient? See the header. */
#include "lesson03_ddp/against_float.h"
#include "common/half.h"
#include "lesson02_allreduce/allreduce.h"

#include <string.h>

int against_float_init(struct against_float *against, struct run *run, const struct ddp *ddp,
                       const struct trainer *of)
{
    *against = (struct against_float){0};
    int error = rerun_init(&against->rerun, run, of);
    if (!error)
        error = ddp_compress_init(&against->compress, run, &run->proving);
    if (!error && ddp->compress.residual)
        memcpy(against->compress.residual, ddp->compress.residual,
               run->model.count * sizeof *ddp->compress.residual);
    return error;
}

void against_float_release(struct against_float *against)
{
    compress_release(&against->compress);
    rerun_release(&against->rerun);
}

/* Line 1: the gradient, and where there is one, what is kept back. */
static int prove_same(struct against_float *against, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    for (size_t i = 0; i < ddp->plan.count; i++) {
        int error = compress_allreduce(&against->compress, ddp->comm,
                                       against->rerun.mine + ddp->plan.buckets[i].slice.begin,
                                       ddp->plan.buckets[i].slice);
        if (error)
            return error;
    }
    struct prove_pair kept = {
        .slice = run->whole,
        .found = ddp->compress.residual,
        .expected = against->compress.residual,
    };
    rerun_prove_mine(&against->rerun, run, step, ddp->grad, kept.found ? &kept : NULL,
                     kept.found
                         ? "compressed buckets, and what is kept back = the same after backward"
                         : "compressed buckets = the same compression after backward");
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

/* Line 2. */
static void prove_rounded(struct rerun *rerun, struct run *run, const struct ddp *ddp,
                          const struct step *step)
{
    size_t world = (size_t)run->environment.world;
    for (size_t i = 0; i < run->model.count; i++) {
        struct sizes sizes = sizes_of((double)rerun->sizes[i], world);
        rerun->bound[i] = bound_1(&sizes, world);
    }
    rerun_prove_whole(rerun, run, step, ddp->grad, false,
                      ddp->compress.residual
                          ? "compressed buckets ~ lesson 2's all-reduce of gradient + kept back"
                          : "compressed buckets ~ lesson 2's all-reduce of the float gradient");
}

/* Line 3. `mine` has been compared, and takes the sum of what is kept back, and the gradient. */
static int prove_kept(struct rerun *rerun, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    size_t count = run->model.count, world = (size_t)run->environment.world;
    memcpy(rerun->mine, ddp->compress.residual, count * sizeof *rerun->mine);
    int error = allreduce(ddp->comm, rerun->mine, rerun->mine, count, COMM_F32, COMM_SUM);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        struct sizes sizes = sizes_of((double)rerun->sizes[i], world);
        rerun->mine[i] += ddp->grad[i];
        rerun->bound[i] = bound_2(&sizes);
    }
    rerun_prove_whole(rerun, run, step, rerun->mine, false,
                      "compressed buckets + what is kept back now ~ gradient + what was");
    return 0;
}

int against_float_gradient(struct against_float *against, struct run *run, const struct ddp *ddp,
                           const struct step *step)
{
    struct rerun *rerun = &against->rerun;
    rerun_gradient(rerun, step, against->compress.residual);
    int error = rerun_sum(rerun, ddp->comm);
    if (!error)
        error = prove_same(against, run, ddp, step);
    if (error)
        return error;
    prove_rounded(rerun, run, ddp, step);
    return ddp->compress.residual ? prove_kept(rerun, run, ddp, step) : 0;
}
