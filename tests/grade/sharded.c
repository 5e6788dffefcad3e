/* sharded: a lesson 4 within a rank of a check. See the header. */
#include "tests/grade/sharded.h"
#include "lesson01_single/norm.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/wire.h"
#include "tests/grade/oracle.h"

#include <stdio.h>
#include <string.h>

int sharded_open(struct sharded *sharded, struct ranks_self *self, int stage)
{
    const struct drawn *drawn = self->context;
    char arguments[DRAWN_TEXT_BYTES + 32];
    *sharded = (struct sharded){.self = self, .run = &sharded->inside.run};
    struct run *run = sharded->run;
    struct zero *zero = &sharded->zero;
    snprintf(arguments, sizeof arguments, "%s --stage %d", drawn->arguments, stage);
    int wrong = inside_open(&sharded->inside, self, 4, arguments);
    struct choice choice = choice_fixed((enum algorithm)run->options.algorithm);
    comm_set_choice(self->comm, &choice);
    if (!wrong)
        wrong = zero_init(zero, run, self->comm) ||
                run_start(run, zero->shard.owned, zero->shard.owned_count) || zero_start(zero);
    return inside_told(self, &sharded->inside, wrong);
}

int sharded_close(struct sharded *sharded, int wrong)
{
    inside_told(sharded->self, &sharded->inside, wrong);
    if (wrong) // what a wrong step has left behind need not end well
        return 1;
    zero_stop(&sharded->zero);
    inside_close(&sharded->inside);
    return 0;
}

int sharded_reduce(struct sharded *sharded, const struct step *step)
{
    zero_begin(&sharded->zero);
    trainer_gradient(&sharded->run->trainer, step);
    return zero_wait(&sharded->zero);
}

struct slice sharded_own(const struct sharded *sharded, size_t bucket, int rank)
{
    struct slice slice = sharded->zero.ddp.plan.buckets[bucket].slice;
    struct slice own = oracle_slice(slice.count, sharded->self->world, rank);
    own.begin += slice.begin;
    return own;
}

size_t sharded_count(const struct sharded *sharded, int rank)
{
    size_t count = 0;
    for (size_t i = 0; i < sharded->zero.ddp.plan.count; i++)
        count += sharded_own(sharded, i, rank).count;
    return count;
}

/* As lesson 3 does it: by the algorithm that was asked for, compressed or not. */
static int allreduce_bucket(struct sharded *sharded, float *values, struct slice slice)
{
    struct ddp *ddp = &sharded->zero.ddp;
    if (ddp->compresses)
        return compress_allreduce(&ddp->compress, ddp->comm, values, slice);
    return allreduce(ddp->comm, values, values, slice.count, COMM_F32, COMM_SUM);
}

int sharded_expect_grad(struct sharded *sharded, const struct step *step, float *param, float *grad)
{
    const struct bucket_plan *plan = &sharded->zero.ddp.plan;
    struct trainer alone = sharded->run->trainer;
    int error = 0;
    alone.listener = (struct model_listener){0};
    alone.places = NULL;
    alone.param = param;
    alone.grad = grad;
    trainer_gradient(&alone, step);
    for (size_t i = 0; i < plan->count && !error; i++) {
        struct slice slice = plan->buckets[i].slice;
        error = allreduce_bucket(sharded, grad + slice.begin, slice);
    }
    return error;
}

/* --- updates --------------------------------------------------------------------------------- */

/* Lesson 3's replica: whole parameters, whole state. */
struct replica {
    struct memory memory;
    struct optimizer optimizer;
    float param[DRAWN_COUNT_MOST], grad[DRAWN_COUNT_MOST];
};

static int check_update(struct sharded *sharded, struct replica *replica, size_t index)
{
    struct run *run = sharded->run;
    float found[DRAWN_COUNT_MOST];
    struct rate rate = {.lr = 0.05f, .clip = 1};
    struct step step = sampler_step(&run->sampler, index);
    int wrong = sharded_expect_grad(sharded, &step, replica->param, replica->grad) ||
                sharded_reduce(sharded, &step);
    if (wrong)
        return wrong;
    optimizer_step(&run->optimizer, run->param, run->grad, rate);
    optimizer_step(&replica->optimizer, replica->param, replica->grad, rate);
    wrong = zero_share(&sharded->zero) || zero_gather_param(&sharded->zero, found);
    for (size_t i = 0; i < run->model.count && !wrong; i++)
        wrong = ranks_expect(
            sharded->self, memcmp(&found[i], &replica->param[i], sizeof *found) == 0,
            "stage %d, after update %zu: %s: parameter [%zu]: expected lesson 3's %.9g, found %.9g",
            sharded->zero.stage, index, model_tensor_at(&run->model, i)->name, i,
            (double)replica->param[i], (double)found[i]);
    return wrong;
}

int sharded_check_updates(struct sharded *sharded, size_t updates)
{
    struct run *run = sharded->run;
    struct replica replica = {0};
    int wrong = zero_gather_param(&sharded->zero, replica.param) ||
                optimizer_init(&replica.optimizer, &run->options, &run->model, &run->whole, 1,
                               &replica.memory);
    for (size_t i = 0; i < updates && !wrong; i++)
        wrong = check_update(sharded, &replica, i);
    return wrong;
}

int sharded_check_owned(const struct sharded *sharded, const float *grad, size_t step)
{
    const struct run *run = sharded->run;
    const struct drawn *drawn = sharded->self->context;
    size_t packed = 0;
    int wrong = 0;
    for (size_t bucket = sharded->zero.ddp.plan.count; bucket-- > 0 && !wrong;) {
        struct slice own = sharded_own(sharded, bucket, sharded->self->rank);
        const float *found = run->grad + (sharded->zero.stage >= 2 ? packed : own.begin);
        for (size_t i = 0; i < own.count && !wrong; i++)
            wrong = ranks_expect(
                sharded->self, memcmp(&found[i], &grad[own.begin + i], sizeof *grad) == 0,
                "step %zu, bucket %zu, its own chunk, gradient [%zu]: expected lesson 3's %.9g, "
                "found %.9g (%s)",
                step, bucket, own.begin + i, (double)grad[own.begin + i], (double)found[i],
                drawn->arguments);
        packed += own.count;
    }
    return wrong;
}

/* --- bytes ----------------------------------------------------------------------------------- */

struct sent sharded_sent(const struct sharded *sharded)
{
    struct comm *comm = sharded->self->comm;
    return (struct sent){comm_bytes_sent(comm), comm_messages_sent(comm)};
}

int sharded_check_sent(const struct sharded *sharded, struct sent before, const char *of,
                       struct sent expected)
{
    struct sent now = sharded_sent(sharded);
    uint64_t messages = now.messages - before.messages;
    uint64_t bytes = now.bytes - before.bytes - messages * WIRE_FRAME_BYTES;
    return ranks_expect(sharded->self, bytes == expected.bytes && messages == expected.messages,
                        "%s: expected %llu bytes sent in %llu messages, found %llu in %llu", of,
                        (unsigned long long)expected.bytes, (unsigned long long)expected.messages,
                        (unsigned long long)bytes, (unsigned long long)messages);
}

int sharded_check_reduce_bytes(struct sharded *sharded)
{
    struct run *run = sharded->run;
    int rank = sharded->self->rank, world = sharded->self->world;
    uint64_t messages = sharded->zero.ddp.plan.count * ((uint64_t)world - 1);
    size_t home = run->model.count - sharded_count(sharded, rank);
    struct step step = sampler_step(&run->sampler, 0);
    struct sent before = sharded_sent(sharded);
    return sharded_reduce(sharded, &step) ||
           sharded_check_sent(sharded, before, "reduce-scatter of the gradient",
                              (struct sent){home * sizeof(float), messages});
}
