/* ddp: gradients that leave while backward still computes. See the header. */
#include "lesson03_ddp/ddp.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson03_ddp/rehearsal.h"

#include <assert.h>
#include <errno.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

int ddp_allreduce(struct ddp *ddp, size_t bucket)
{
    struct slice slice = ddp->plan.buckets[bucket].slice;
    float *grad = ddp->grad + slice.begin;
    if (ddp->compresses)
        return compress_allreduce(&ddp->compress, ddp->comm, grad, slice);
    return allreduce(ddp->comm, grad, grad, slice.count, COMM_F32, COMM_SUM);
}

void ddp_record(const struct ddp *ddp, enum trace_kind kind, size_t index, double began_seconds)
{
    if (!ddp->trace)
        return;
    const struct bucket *bucket = &ddp->plan.buckets[index];
    bool half = ddp->compresses && kind == TRACE_BUCKET; // parameters are gathered as they are
    size_t bytes = bucket->slice.count * (half ? sizeof(uint16_t) : sizeof(float));
    struct trace_event event = {
        .kind = kind,
        .index = (uint32_t)index,
        .begin_seconds = began_seconds,
        .tensors = (uint32_t)bucket->tensors,
        .elements = bucket->slice.count,
        .bytes = bytes,
    };
    enum algorithm algorithm = choice_for(comm_choice(ddp->comm), bytes);
    snprintf(event.algorithm, sizeof event.algorithm, "%s",
             half ? "direct, bf16" : algorithm_name(algorithm));
    trace_network(ddp->trace, &event);
}

static int reduce_bucket(struct ddp *ddp, size_t index)
{
    comm_tag(ddp->comm, (uint32_t)index); // two buckets of one size are not taken for each other
    return ddp->reduce(ddp, index);
}

/* Runs in the worker's thread. */
static int on_job(void *context, size_t index)
{
    struct ddp *ddp = context;
    if (index >= DDP_OTHER)
        return ddp->other(ddp, index);
    double began = trace_begin(ddp->trace);
    int error = reduce_bucket(ddp, index);
    ddp_record(ddp, TRACE_BUCKET, index, began);
    return error;
}

void ddp_plan(struct ddp *ddp, const struct run *run, const struct bucket_order *order)
{
    bucket_plan_make(&ddp->plan, &run->model, order, run->options.first_bucket_bytes,
                     run->options.bucket_bytes);
}

size_t ddp_longest_bucket(const struct options *options, const struct model *model)
{
    size_t most = larger(options->bucket_bytes, options->first_bucket_bytes) / sizeof(float);
    for (size_t i = 0; i < model->tensor_count; i++)
        most = larger(most, model->tensors[i].slice.count);
    return most < model->count ? most : model->count;
}

int ddp_compress_init(struct compress *compress, struct run *run, struct memory *memory)
{
    const struct options *options = &run->options;
    size_t most = ddp_longest_bucket(options, &run->model);
    int error = compress_init(compress, most, run->environment.world, run->model.count,
                              options->error_feedback, memory);
    return error ? fail_set(&run->fail, error, "no memory to compress gradients") : 0;
}

int ddp_init_over(struct ddp *ddp, struct run *run, struct comm *comm, struct memory *memory)
{
    ddp->comm = comm;
    ddp->model = &run->model;
    ddp->overlap = run->options.overlap && !mistakes_hold_back(ddp->mistakes);
    ddp->find_unused = run->options.find_unused;
    ddp->updates = &run->optimizer.updates;
    struct bucket_order order = bucket_order_reverse(&run->model);
    ddp_plan(ddp, run, &order);
    ddp->compresses = run->options.compress == COMPRESS_BF16;
    int error = ddp->compresses ? ddp_compress_init(&ddp->compress, run, memory) : 0;
    if (error)
        return error;
    error = worker_start(&ddp->worker, on_job, ddp);
    if (error)
        fail_set(&run->fail, error, "cannot start the communication thread: %s",
                 uv_strerror(error));
    return error;
}

/* A resumed run goes on with the buckets it had, or not every bit would be the same. */
static void plan_as_before(struct ddp *ddp, const struct run *run)
{
    struct bucket_order order = rehearsal(run, &ddp->plan.order);
    ddp_plan(ddp, run, &order);
    ddp->rebuilt = true;
}

int ddp_init(struct ddp *ddp, struct run *run, struct comm *comm)
{
    *ddp = (struct ddp){.grad = run->grad,
                        .reduce = ddp_allreduce,
                        .mistakes = run->trainer.mistakes,
                        .trace = run->trace};
    int error = ddp_init_over(ddp, run, comm, &run->memory);
    if (!error && run->optimizer.updates > 0)
        plan_as_before(ddp, run);
    run->trainer.listener = ddp_listener(ddp);
    return error;
}

void ddp_stop(struct ddp *ddp)
{
    worker_stop(&ddp->worker);
    compress_release(&ddp->compress);
}

/* Those whose turn it is. */
static void submit_full_buckets(struct ddp *ddp)
{
    // task 03.2 {
    while (ddp->next < ddp->plan.count && ddp->missing[ddp->next] == 0) {
        if (ddp->submit)
            ddp->submit(ddp, ddp->next);
        else
            worker_submit(&ddp->worker, ddp->next);
        ddp->next++;
    }
    // } 03.2
}

/* A tensor is ready: notes it in what ddp.h keeps of a step, and in the trace (trace_ready). With overlap
 * what is full by then leaves. */
static void on_ready(void *context, size_t tensor)
{
    // task 03.2 {
    struct ddp *ddp = context;
    if (ddp->plan.of_tensor[tensor] == BUCKET_NONE)
        return;                  // takes no part
    assert(!ddp->ready[tensor]); // a gradient is final once
    ddp->handed_over = ddp->next;
    ddp->missing[ddp->plan.of_tensor[tensor]]--;
    ddp->ready[tensor] = true;
    ddp->seen.tensors[ddp->seen.count++] = tensor;
    trace_ready(ddp->trace, ddp->model->tensors[tensor].name);
    if (ddp->overlap)
        submit_full_buckets(ddp);
    // } 03.2
}

/* A gradient begins each step as 0 and nobody adds to this one: it is final. */
static void on_unused(void *context, size_t tensor)
{
    struct ddp *ddp = context;
    if (ddp->find_unused)
        on_ready(context, tensor);
    else
        ddp->unused = true;
}

struct model_listener ddp_listener(struct ddp *ddp)
{
    return (struct model_listener){.on_ready = on_ready, .on_unused = on_unused, .context = ddp};
}

void ddp_begin(struct ddp *ddp)
{
    // task 03.2 {
    for (size_t i = 0; i < ddp->plan.count; i++)
        ddp->missing[i] = ddp->plan.buckets[i].tensors;
    for (size_t i = 0; i < ddp->model->tensor_count; i++)
        ddp->ready[i] = false;
    ddp->next = ddp->seen.count = 0;
    ddp->unused = false;
    worker_reset(&ddp->worker);
    // } 03.2
}

/* Some bucket was never sent. Named is the first tensor of the order that should have been ready. */
static int name_missing(const struct ddp *ddp, struct fail *fail)
{
    const struct bucket_order *order = &ddp->plan.order;
    size_t first = 0;
    while (first < order->count && ddp->ready[order->tensors[first]])
        first++;
    if (first < order->count)
        fail_set(fail, -EINVAL,
                 "rank %d, step %zu: %s got no gradient, so bucket %zu of %zu cannot be sent; with "
                 "--find-unused a missing gradient counts as 0",
                 comm_rank(ddp->comm), *ddp->updates,
                 ddp->model->tensors[order->tensors[first]].name, ddp->next, ddp->plan.count);
    else
        fail_set(fail, -EINVAL,
                 "rank %d, step %zu: all gradients are ready, but bucket %zu of %zu, which waits "
                 "for %zu more, was not handed over",
                 comm_rank(ddp->comm), *ddp->updates, ddp->next, ddp->plan.count,
                 ddp->missing[ddp->next]);
    comm_stop(ddp->comm, fail); // the others wait for this bucket
    return fail->code;
}

int ddp_wait(struct ddp *ddp, struct fail *fail)
{
    ddp->begun_at_end = worker_begun(&ddp->worker);
    submit_full_buckets(ddp);
    int error = worker_wait(&ddp->worker);
    comm_tag(ddp->comm, 0);
    if (ddp->plan.count > 0)
        mistakes_exchange(ddp->mistakes, ddp->grad, ddp->plan.buckets[ddp->plan.count - 1].slice);
    return !error && ddp->next < ddp->plan.count ? name_missing(ddp, fail) : error;
}

void ddp_account(const struct ddp *ddp, struct run *run)
{
    run->bytes_sent = comm_bytes_sent(ddp->comm);
    run->messages_sent = comm_messages_sent(ddp->comm);
    run->comm_seconds = ddp->worker.busy_seconds; // the thread sleeps: no lock is needed
}
