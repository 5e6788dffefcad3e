/* overlapped: a lesson 3 whose backward a test may interfere with. See the header. */
#include "tests/overlapped.h"
#include "lesson02_allreduce/ring.h"

#include <string.h>

int overlapped_open(struct overlapped *overlapped, struct ranks_self *self, const char *arguments,
                    void (*on_ready)(void *context, size_t tensor), void *context)
{
    *overlapped = (struct overlapped){.self = self};
    int wrong = inside_open(&overlapped->inside, self, 3, arguments);
    struct run *run = overlapped->run = &overlapped->inside.run;
    if (wrong)
        return wrong;
    wrong = inside_told(self, &overlapped->inside, ddp_init(&overlapped->ddp, run, self->comm));
    overlapped->ddp_hears = ddp_listener(&overlapped->ddp);
    run->trainer.listener = (struct model_listener){.on_ready = on_ready, .context = context};
    return wrong;
}

void overlapped_close(struct overlapped *overlapped)
{
    ddp_stop(&overlapped->ddp);
    inside_close(&overlapped->inside);
}

int overlapped_gradient(struct overlapped *overlapped, const struct step *step)
{
    ddp_begin(&overlapped->ddp);
    trainer_gradient(&overlapped->run->trainer, step);
    return ddp_wait(&overlapped->ddp, &overlapped->self->fail);
}

int overlapped_check(struct overlapped *overlapped, const struct step *step)
{
    float expected[OVERLAPPED_COUNT_MOST];
    struct run *run = overlapped->run;
    const struct bucket_plan *plan = &overlapped->ddp.plan;
    int error = overlapped_gradient(overlapped, step);
    inside_gradient(run, step, expected);
    for (size_t i = 0; i < plan->count && !error; i++) {
        struct slice slice = plan->buckets[i].slice;
        float *bucket = expected + slice.begin;
        error =
            ring_allreduce(overlapped->self->comm, bucket, bucket, slice.count, COMM_F32, COMM_SUM);
    }
    for (size_t i = 0; i < run->model.count && !error; i++) {
        const struct tensor *tensor = model_tensor_at(&run->model, i);
        size_t index = (size_t)(tensor - run->model.tensors);
        error = ranks_expect(overlapped->self,
                             memcmp(&run->grad[i], &expected[i], sizeof *expected) == 0,
                             "step %zu, bucket %zu of %zu, %s[%zu]: expected the ring's %.9g, "
                             "found %.9g",
                             step->index, plan->of_tensor[index], plan->count, tensor->name,
                             i - tensor->slice.begin, (double)expected[i], (double)run->grad[i]);
    }
    return error;
}
