/* zero: every rank keeps its share of what a step needs. See the header. */
#include "lesson04_zero/zero.h"
#include "common/clock.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson03_ddp/manifest.h"
#include "lesson03_ddp/replicas.h"

#include <errno.h>
#include <string.h>

/* --- what ddp and the model call --------------------------------------------------------------- */

/* Stage 1: in the slab. */
static int reduce_in_place(struct ddp *ddp, size_t bucket)
{
    // task 04.2 {
    struct slice slice = ddp->plan.buckets[bucket].slice;
    float *grad = ddp->grad + slice.begin;
    if (ddp->compresses)
        return compress_reduce_scatter(&ddp->compress, ddp->comm, grad, slice);
    return reduce_scatter(ddp->comm, grad, slice.count, COMM_F32, COMM_SUM);
    // } 04.2
}

static int reduce_in_pool(struct ddp *ddp, size_t bucket)
{
    struct zero *zero = ddp->owner;
    return zero2_reduce(&zero->zero2, bucket);
}

static void submit(struct ddp *ddp, size_t bucket)
{
    struct zero *zero = ddp->owner;
    zero2_submit(&zero->zero2, bucket);
}

static int gather(struct ddp *ddp, size_t job)
{
    struct zero *zero = ddp->owner;
    size_t bucket = job - DDP_OTHER;
    double began = trace_begin(ddp->trace);
    int error = zero3_gather(&zero->zero3, bucket);
    ddp_record(ddp, TRACE_GATHER, bucket, began);
    return error;
}

static void on_add(void *context, size_t tensor)
{
    zero2_add(&((struct zero *)context)->zero2, tensor);
}

static void on_layer(void *context, size_t layer)
{
    zero3_layer(&((struct zero *)context)->zero3, layer);
}

/* --- for dumps --------------------------------------------------------------------------------- */

static int gather_param(void *context, const float **whole, struct fail *fail)
{
    struct zero *zero = context;
    *whole = zero->whole;
    int error = zero_gather_param(zero, zero->whole);
    return error ? fail_set(fail, error, "%s", comm_fail(zero->ddp.comm)->text) : 0;
}

/* Dumps hold whole parameters in every stage. */
static int take_whole(struct zero *zero)
{
    struct run *run = zero->run;
    run->gather_param = zero->stage >= 3 ? gather_param : NULL;
    run->param_context = zero;
    if (zero->stage < 3 || !run->options.dump)
        return 0;
    zero->whole = memory_floats(&run->memory, MEMORY_OTHER, run->model.count);
    return zero->whole ? 0 : fail_set(&run->fail, -ENOMEM, "no memory to dump whole tensors");
}

/* --- begin and end ----------------------------------------------------------------------------- */

static int init_gradients(struct zero *zero)
{
    struct run *run = zero->run;
    zero->ddp.reduce = reduce_in_pool;
    zero->ddp.submit = submit;
    zero->places.on_add = on_add;
    int error =
        zero2_init(&zero->zero2, run, &zero->ddp, &zero->shard, &zero->script, &zero->places);
    return error ? fail_set(&run->fail, error, "no memory for gradients") : 0;
}

static int init_parameters(struct zero *zero)
{
    zero->ddp.other = gather;
    zero->places.on_layer = on_layer;
    return zero3_init(&zero->zero3, zero->run, &zero->ddp, &zero->shard, &zero->script,
                      &zero->places);
}

int zero_init(struct zero *zero, struct run *run, struct comm *comm)
{
    *zero = (struct zero){.stage = run->options.stage, .run = run};
    zero->ddp = (struct ddp){.grad = run->grad,
                             .reduce = reduce_in_place,
                             .owner = zero,
                             .mistakes = run->trainer.mistakes,
                             .trace = run->trace};
    zero->places.context = zero;
    int error = ddp_init_over(&zero->ddp, run, comm, &run->memory);
    shard_plan(&zero->shard, &zero->ddp.plan, (size_t)comm_world(comm), (size_t)comm_rank(comm));
    if (!error)
        error = offload_init(&zero->offload, run, comm, zero->shard.owned, zero->shard.owned_count);
    if (!error && zero->stage >= 2) {
        script_rehearse(&zero->script, &run->model, run->options.recompute, &zero->ddp.plan);
        run->trainer.places = &zero->places;
        error = init_gradients(zero);
    }
    if (!error && zero->stage >= 3)
        error = init_parameters(zero);
    run->trainer.listener = ddp_listener(&zero->ddp);
    return error ? error : take_whole(zero);
}

void zero_stop(struct zero *zero)
{
    ddp_stop(&zero->ddp);
    zero2_release(&zero->zero2);
    zero3_release(&zero->zero3);
    offload_release(&zero->offload);
    if (zero->run)
        memory_return(&zero->run->memory, MEMORY_OTHER, zero->whole, zero->run->model.count);
    *zero = (struct zero){0};
}

int zero_start(struct zero *zero)
{
    if (zero->stage < 3)
        return replicas_begin(zero->run, zero->ddp.comm);
    int error = manifest_compare(zero->run, zero->ddp.comm);
    return error ? error : zero3_start(&zero->zero3);
}

/* --- the step ---------------------------------------------------------------------------------- */

void zero_begin(struct zero *zero)
{
    ddp_begin(&zero->ddp);
    if (zero->stage >= 3)
        zero3_begin(&zero->zero3);
}

int zero_wait(struct zero *zero)
{
    int error = ddp_wait(&zero->ddp, &zero->run->fail);
    if (zero->stage >= 2)
        zero2_end(&zero->zero2);
    if (zero->stage >= 3) {
        zero3_end(&zero->zero3);
        zero->run->trainer.seconds -= zero->zero3.waited_seconds; // not computed meanwhile
    }
    return error;
}

/* One bucket's values, and the trace sees it. */
static int share_bucket(struct zero *zero, size_t bucket, float *values)
{
    double began = trace_begin(zero->ddp.trace);
    int error = shard_gather_bucket(&zero->shard, zero->ddp.comm, bucket, values);
    ddp_record(&zero->ddp, TRACE_GATHER, bucket, began);
    return error;
}

/* Bucket by bucket, with share_bucket. */
static int share_slab(struct zero *zero)
{
    // task 04.2 {
    int error = 0;
    for (size_t i = 0; i < zero->ddp.plan.count && !error; i++)
        error = share_bucket(zero, i, zero->run->param + zero->ddp.plan.buckets[i].slice.begin);
    comm_tag(zero->ddp.comm, 0);
    return error;
    // } 04.2
}

int zero_share(struct zero *zero)
{
    struct run *run = zero->run;
    double began = clock_seconds();
    int error = zero->stage < 3 ? share_slab(zero) : zero3_refresh(&zero->zero3);
    zero->gather_seconds = clock_seconds() - began;
    run->exposed_seconds += zero->gather_seconds; // nothing is computed meanwhile
    run->exposed_seconds += zero->stage < 3 ? 0 : zero->zero3.waited_seconds;
    trace_end(run->trace, TRACE_WAIT, 0, began);
    profile_lap(run->profile, PROFILE_WAIT);
    return error;
}

void zero_account(const struct zero *zero)
{
    ddp_account(&zero->ddp, zero->run);
    zero->run->comm_seconds += zero->gather_seconds;
}

int zero_gather_state(const struct zero *zero, size_t index, float *slab, struct fail *fail)
{
    struct slice part = {0};
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        struct slice owned = zero->shard.owned[i];
        part.count = owned.count;
        int error = optimizer_read(&zero->run->optimizer, index, part, slab + owned.begin, fail);
        if (error)
            return error;
        part.begin += owned.count;
    }
    int error = shard_gather(&zero->shard, zero->ddp.comm, slab);
    return error ? fail_set(fail, error, "%s", comm_fail(zero->ddp.comm)->text) : 0;
}

/* To their places in the slab. */
static int read_owned_param(const struct zero *zero, float *slab)
{
    struct run *run = zero->run;
    struct slice part = {0};
    for (size_t i = 0; i < zero->shard.owned_count; i++) {
        struct slice owned = zero->shard.owned[i];
        part.count = owned.count;
        int error = run_read_param(run, part, slab + owned.begin, &run->fail);
        if (error)
            return error;
        part.begin += owned.count;
    }
    return 0;
}

int zero_gather_param(const struct zero *zero, float *slab)
{
    const struct run *run = zero->run;
    if (zero->stage < 3) {
        memcpy(slab, run->param, run->model.count * sizeof *slab);
        return 0;
    }
    for (size_t i = 0; i < run->model.tensor_count; i++) {
        struct slice slice = run->model.tensors[i].slice;
        if (run->frozen[i])
            memcpy(slab + slice.begin, run->frozen[i], slice.count * sizeof *slab);
    }
    int error = read_owned_param(zero, slab);
    return error ? error : shard_gather(&zero->shard, zero->ddp.comm, slab);
}
