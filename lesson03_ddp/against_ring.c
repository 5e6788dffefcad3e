/* against_ring: do buckets and overlap change nothing but the time? See the header. */
#include "lesson03_ddp/against_ring.h"
#include "lesson02_allreduce/agree.h"
#include "lesson02_allreduce/allreduce.h"

static enum algorithm algorithm_for(const struct ddp *ddp, size_t count)
{
    return choice_for(comm_choice(ddp->comm), count * sizeof(float));
}

/* Is every element added in the same order in its bucket as in the whole gradient? A rebuilt plan
 * may have another answer. */
static bool same_order(const struct ddp *ddp, size_t count)
{
    enum algorithm whole = algorithm_for(ddp, count);
    bool same = true;
    for (size_t i = 0; i < ddp->plan.count; i++)
        same = same &&
               algorithm_adds_alike(algorithm_for(ddp, ddp->plan.buckets[i].slice.count), whole);
    bool one_piece = ddp->plan.count == 1 && ddp->plan.buckets[0].slice.count == count;
    return same || one_piece || comm_world(ddp->comm) <= 2;
}

int against_ring_init(struct against_ring *against, struct run *run, const struct ddp *ddp)
{
    *against = (struct against_ring){.exact = true};
    if (run->options.verify == 0)
        return 0;
    return ddp->compresses ? against_float_init(&against->compressed, run, ddp, &run->trainer)
                           : rerun_init(&against->rerun, run, &run->trainer);
}

void against_ring_release(struct against_ring *against)
{
    against_float_release(&against->compressed);
    rerun_release(&against->rerun);
}

static int prove_buckets(struct rerun *rerun, struct run *run, const struct ddp *ddp,
                         const struct step *step)
{
    for (size_t i = 0; i < ddp->plan.count; i++) {
        struct slice slice = ddp->plan.buckets[i].slice;
        float *bucket = rerun->mine + slice.begin;
        int error = allreduce(ddp->comm, bucket, bucket, slice.count, COMM_F32, COMM_SUM);
        if (error)
            return error;
    }
    rerun_prove_mine(rerun, run, step, run->grad, NULL,
                     "overlapped buckets = lesson 2's all-reduce, bucket by bucket");
    return 0;
}

/* sizes was summed in float itself: one more rounding for each of its additions. */
static void fill_bound(struct rerun *rerun, size_t world, size_t count)
{
    double nu = 2 * (double)world * 0x1p-24, gamma = nu / (1 - nu);
    for (size_t i = 0; i < count; i++)
        rerun->bound[i] = 2 * gamma * (double)rerun->sizes[i];
}

static int prove_whole(struct against_ring *against, struct run *run, const struct ddp *ddp,
                       const struct step *step)
{
    bool exact = same_order(ddp, run->model.count);
    against->exact = against->exact && exact;
    int error = rerun_sum(&against->rerun, ddp->comm);
    if (error)
        return error;
    fill_bound(&against->rerun, (size_t)run->environment.world, run->model.count);
    rerun_prove_whole(&against->rerun, run, step, run->grad, exact,
                      exact ? "overlapped buckets = lesson 2's all-reduce on the whole gradient"
                            : "overlapped buckets ~ lesson 2's all-reduce on the whole gradient");
    return 0;
}

static int prove_sums(struct against_ring *against, struct run *run, const struct ddp *ddp,
                      const struct step *step)
{
    rerun_gradient(&against->rerun, step, NULL);
    int error = prove_buckets(&against->rerun, run, ddp, step);
    return error ? error : prove_whole(against, run, ddp, step);
}

/* A slab that nobody needs any more in this step. */
static float *spare(const struct against_ring *against)
{
    return against->rerun.whole ? against->rerun.whole : against->compressed.rerun.whole;
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
                      run->grad, spare(against));
    return error ? error : run_judge(run, step);
}

int against_ring_parameters(struct against_ring *against, struct run *run, struct comm *comm,
                            const struct step *step)
{
    int error = agree(run, comm, step, "parameters = the parameters of every other rank",
                      run->param, spare(against));
    return error ? error : run_judge(run, step);
}
