/* against_ring: do buckets and overlap change nothing but the time? See the header. */
#include "lesson03_ddp/against_ring.h"
#include "lesson01_single/prove.h"
#include "lesson01_single/reference.h"
#include "lesson02_allreduce/agree.h"
#include "lesson02_allreduce/allreduce.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static enum algorithm algorithm_for(const struct ddp *ddp, size_t count)
{
    return choice_for(comm_choice(ddp->comm), count * sizeof(float));
}

/* Is every element added in the same order in its bucket as in the whole gradient? A rebuilt plan
 * may have another answer. */
static bool same_order(const struct ddp *ddp, size_t count)
{
    enum algorithm whole = algorithm_for(ddp, count);
    bool same = algorithm_ignores_cuts(whole);
    for (size_t i = 0; i < ddp->plan.count; i++)
        same = same && algorithm_for(ddp, ddp->plan.buckets[i].slice.count) == whole;
    bool one_piece = ddp->plan.count == 1 && ddp->plan.buckets[0].slice.count == count;
    return same || one_piece || comm_world(ddp->comm) <= 2;
}

int against_ring_init(struct against_ring *against, struct run *run, const struct ddp *ddp)
{
    *against = (struct against_ring){.memory = &run->memory, .exact = true};
    if (run->options.verify == 0)
        return 0;
    size_t count = run->model.count, rows = run->trainer.activations.capacity;
    struct trainer like = run->trainer;
    like.recompute = 1; // all kept: what is computed again is held against it
    like.listener = (struct model_listener){0};
    int error = trainer_init(&against->replay, &like, rows, &run->memory);
    float **slabs[] = {&against->mine, &against->whole, &against->sizes, &against->before};
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs && !error; i++) {
        *slabs[i] = memory_floats(&run->memory, MEMORY_OTHER, count);
        error = *slabs[i] ? 0 : -ENOMEM;
    }
    if (!error) {
        against->bound = reference_doubles(&run->memory, count);
        error = against->bound ? 0 : -ENOMEM;
    }
    if (error)
        return fail_set(&run->fail, error, "no memory to verify with: try --no-verify");
    return ddp->compresses ? against_float_init(&against->compressed, run, ddp) : 0;
}

void against_ring_release(struct against_ring *against)
{
    if (against->replay.model) {
        size_t count = against->replay.model->count;
        memory_return(against->memory, MEMORY_OTHER, against->mine, count);
        memory_return(against->memory, MEMORY_OTHER, against->whole, count);
        memory_return(against->memory, MEMORY_OTHER, against->sizes, count);
        memory_return(against->memory, MEMORY_OTHER, against->before, count);
        reference_return(against->memory, against->bound, count);
    }
    against_float_release(&against->compressed);
    trainer_release(&against->replay);
    *against = (struct against_ring){0};
}

/* This rank's gradient again, into mine, whole and, without signs, sizes. */
static void replay(struct against_ring *against, const struct step *step)
{
    size_t count = against->replay.model->count;
    against->replay.grad = against->mine;
    trainer_gradient(&against->replay, step);
    memcpy(against->whole, against->mine, count * sizeof *against->mine);
    for (size_t i = 0; i < count; i++)
        against->sizes[i] = fabsf(against->mine[i]);
}

static int prove_buckets(struct against_ring *against, struct run *run, const struct ddp *ddp,
                         const struct step *step)
{
    struct prove prove = {0};
    for (size_t i = 0; i < ddp->plan.count; i++) {
        struct slice slice = ddp->plan.buckets[i].slice;
        float *bucket = against->mine + slice.begin;
        int error = allreduce(ddp->comm, bucket, bucket, slice.count, COMM_F32, COMM_SUM);
        if (error)
            return error;
    }
    struct prove_pair pair = {
        .slice = run->whole,
        .found = run->grad,
        .expected = against->mine,
        .before = against->steps > 0 ? against->before : NULL,
    };
    prove_pair(&prove, &pair);
    prove_end(&prove, run, step, "overlapped buckets = lesson 2's all-reduce, bucket by bucket");
    memcpy(against->before, against->mine, run->model.count * sizeof *against->mine);
    return 0;
}

/* sizes was summed in float itself: one more rounding for each of its additions. */
static void fill_bound(struct against_ring *against, size_t world, size_t count)
{
    double nu = 2 * (double)world * 0x1p-24, gamma = nu / (1 - nu);
    for (size_t i = 0; i < count; i++)
        against->bound[i] = 2 * gamma * (double)against->sizes[i];
}

static int prove_whole(struct against_ring *against, struct run *run, const struct ddp *ddp,
                       const struct step *step)
{
    struct comm *comm = ddp->comm;
    size_t count = run->model.count, world = (size_t)run->environment.world;
    bool exact = same_order(ddp, count);
    against->exact = against->exact && exact;
    int error = allreduce(comm, against->whole, against->whole, count, COMM_F32, COMM_SUM);
    if (!error)
        error = allreduce(comm, against->sizes, against->sizes, count, COMM_F32, COMM_SUM);
    if (error)
        return error;
    fill_bound(against, world, count);
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = run->grad,
        .expected = against->whole,
        .bound = exact ? NULL : against->bound,
    };
    prove_pair(&prove, &pair);
    prove_end(&prove, run, step,
              exact ? "overlapped buckets = lesson 2's all-reduce on the whole gradient"
                    : "overlapped buckets ~ lesson 2's all-reduce on the whole gradient");
    return 0;
}

static int prove_sums(struct against_ring *against, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    replay(against, step);
    int error = prove_buckets(against, run, ddp, step);
    return error ? error : prove_whole(against, run, ddp, step);
}

static void show_overlap(const struct ddp *ddp, struct run *run, const struct step *step)
{
    if (run->environment.rank > 0 || run->options.quiet)
        return;
    progress_clear(&run->progress);
    fprintf(
        run->proof.out,
        "overlap step %zu: %zu of %zu buckets handed over before the last gradient was computed, "
        "%zu begun when backward ended\n",
        step->index, ddp->handed_over, ddp->plan.count, ddp->begun_at_end);
}

int against_ring_gradient(struct against_ring *against, struct run *run, const struct ddp *ddp,
                          const struct step *step)
{
    show_overlap(ddp, run, step);
    int error = ddp->compresses ? against_float_gradient(&against->compressed, run, ddp, step)
                                : prove_sums(against, run, ddp, step);
    if (!error)
        error = agree(run, ddp->comm, step, "gradient = the gradient of every other rank",
                      run->grad, against->whole);
    against->steps++;
    return error ? error : run_judge(run, step);
}

int against_ring_parameters(struct against_ring *against, struct run *run, struct comm *comm,
                            const struct step *step)
{
    int error = agree(run, comm, step, "parameters = the parameters of every other rank",
                      run->param, against->whole);
    return error ? error : run_judge(run, step);
}
