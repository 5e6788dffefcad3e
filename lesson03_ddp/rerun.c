/* rerun: this rank's gradient once more, to compare with. See the header. */
#include "lesson03_ddp/rerun.h"
#include "lesson01_single/reference.h"
#include "lesson02_allreduce/allreduce.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int take_room(struct rerun *rerun, size_t count)
{
    float **slabs[] = {&rerun->mine, &rerun->whole, &rerun->sizes, &rerun->before};
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
        *slabs[i] = memory_floats(rerun->memory, MEMORY_OTHER, count);
        if (!*slabs[i])
            return -ENOMEM;
    }
    rerun->bound = reference_doubles(rerun->memory, count);
    return rerun->bound ? 0 : -ENOMEM;
}

int rerun_init(struct rerun *rerun, struct run *run, const struct trainer *of)
{
    *rerun = (struct rerun){.memory = &run->proving};
    struct trainer like = *of;
    like.recompute = 1;
    like.listener = (struct model_listener){0};
    int error = trainer_init(&rerun->trainer, &like, of->activations.capacity, &run->proving);
    if (!error)
        error = take_room(rerun, run->model.count);
    return error ? fail_set(&run->fail, error, "no memory to verify with: try --no-verify") : 0;
}

void rerun_release(struct rerun *rerun)
{
    if (rerun->trainer.model) {
        size_t count = rerun->trainer.model->count;
        memory_return(rerun->memory, MEMORY_OTHER, rerun->mine, count);
        memory_return(rerun->memory, MEMORY_OTHER, rerun->whole, count);
        memory_return(rerun->memory, MEMORY_OTHER, rerun->sizes, count);
        memory_return(rerun->memory, MEMORY_OTHER, rerun->before, count);
        reference_return(rerun->memory, rerun->bound, count);
    }
    trainer_release(&rerun->trainer);
    *rerun = (struct rerun){0};
}

void rerun_gradient(struct rerun *rerun, const struct step *step, const float *kept)
{
    size_t count = rerun->trainer.model->count;
    rerun->trainer.grad = rerun->mine;
    trainer_gradient(&rerun->trainer, step);
    for (size_t i = 0; i < count; i++) {
        rerun->whole[i] = kept ? rerun->mine[i] + kept[i] : rerun->mine[i];
        rerun->sizes[i] = fabsf(rerun->whole[i]);
    }
}

static int sum_up(struct comm *comm, float *slab, size_t count)
{
    return allreduce(comm, slab, slab, count, COMM_F32, COMM_SUM);
}

int rerun_sum(struct rerun *rerun, struct comm *comm)
{
    size_t count = rerun->trainer.model->count;
    int error = sum_up(comm, rerun->whole, count);
    return error ? error : sum_up(comm, rerun->sizes, count);
}

void rerun_prove_mine(struct rerun *rerun, struct run *run, const struct step *step,
                      const float *found, const struct prove_pair *other, const char *what)
{
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = found,
        .expected = rerun->mine,
        .before = rerun->steps > 0 ? rerun->before : NULL,
    };
    prove_pair(&prove, &pair);
    if (other)
        prove_pair(&prove, other);
    prove_end(&prove, run, step, what);
    memcpy(rerun->before, rerun->mine, run->model.count * sizeof *rerun->mine);
    rerun->steps++;
}

void rerun_prove_whole(const struct rerun *rerun, struct run *run, const struct step *step,
                       const float *found, bool exact, const char *what)
{
    struct prove prove = {0};
    struct prove_pair pair = {
        .slice = run->whole,
        .found = found,
        .expected = rerun->whole,
        .bound = exact ? NULL : rerun->bound,
    };
    prove_pair(&prove, &pair);
    prove_end(&prove, run, step, what);
}
