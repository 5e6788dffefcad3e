/*
 * check_ddp: does each bucket leave when its last tensor has come, in its turn, once? See lesson03.h.
 *
 * The plan is made by hand and what is submitted goes to the check instead of the worker, so that neither of
 * these tasks need be written.
 */
#include "tests/grade/lesson03.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "lesson03_ddp/ddp.h"
#include "tests/grade/drawn.h"
#include "tests/grade/oracle.h"
#include "tests/inside.h"

#include <string.h>

enum { MODELS = 40, LAYERS = 6, STEPS = 3 };

/* A ddp whose worker is the check. */
struct hand {
    struct model model;
    struct ddp ddp;
    size_t submitted[4 * MODEL_TENSORS_MOST], count; // buckets, in the order they came
    struct trace trace;
    struct memory memory;
    size_t traced; // records of the trace before this step
    int error;     // of the first reduction that failed
};

static void on_submit(struct ddp *ddp, size_t bucket)
{
    struct hand *hand = ddp->owner;
    if (hand->count < sizeof hand->submitted / sizeof *hand->submitted)
        hand->submitted[hand->count++] = bucket;
}

/* Only the worker's lock: no thread is started. */
static int hand_open(struct hand *hand, struct grade *grade)
{
    *hand = (struct hand){.model = drawn_model(grade, LAYERS)};
    hand->ddp.model = &hand->model;
    hand->ddp.plan = drawn_plan(grade, &hand->model);
    hand->ddp.overlap = true;
    hand->ddp.submit = on_submit;
    hand->ddp.owner = hand;
    hand->ddp.trace = &hand->trace;
    uv_mutex_init(&hand->ddp.worker.lock);
    int error = trace_init(&hand->trace, &hand->memory);
    return grade_expect(grade, error == 0, "expected memory for a trace, found error %d", error);
}

static void hand_close(struct hand *hand)
{
    if (hand->ddp.trace)
        trace_release(hand->ddp.trace);
    uv_mutex_destroy(&hand->ddp.worker.lock);
}

/* Buckets that may have left: all before the first that still waits for a tensor. */
static size_t full(const struct hand *hand, const bool *announced)
{
    size_t missing[MODEL_TENSORS_MOST] = {0}, count = 0;
    for (size_t i = 0; i < hand->model.tensor_count; i++)
        missing[hand->ddp.plan.of_tensor[i]] += !announced[i];
    while (count < hand->ddp.plan.count && missing[count] == 0)
        count++;
    return count;
}

/* What is kept of tensor number i, just announced, and of no other one: rebuild.h, the sentence of a missing
 * gradient and the trace live on it. */
static int check_noted(struct hand *hand, struct grade *grade, const bool *announced,
                       const struct bucket_order *order, size_t i)
{
    const struct ddp *ddp = &hand->ddp;
    const struct trace *trace = ddp->trace;
    size_t traced = trace_count(trace, TRACE_COMPUTE) - hand->traced;
    const char *name = hand->model.tensors[order->tensors[i]].name;
    int wrong = grade_expect(grade, ddp->seen.count == i + 1,
                             "%s ready: expected %zu tensors seen, "
                             "found %zu",
                             name, i + 1, ddp->seen.count) ||
                grade_expect(grade, ddp->seen.tensors[i] == order->tensors[i],
                             "%s ready: expected tensor %zu as number %zu seen, found %zu", name,
                             order->tensors[i], i, ddp->seen.tensors[i]) ||
                grade_expect(grade, traced == i + 1,
                             "%s ready: expected %zu tensors ready in the trace, found %zu", name,
                             i + 1, traced);
    if (!wrong) {
        const struct trace_event *event = trace_at(trace, TRACE_COMPUTE, hand->traced + i);
        wrong = grade_expect(grade, event->kind == TRACE_READY && strcmp(event->tensor, name) == 0,
                             "the trace: expected %s ready, found %s", name, event->tensor);
    }
    for (size_t j = 0; j < hand->model.tensor_count && !wrong; j++)
        wrong = grade_expect(grade, ddp->ready[j] == announced[j],
                             "%zu of %zu tensors ready: expected ready[%zu] to be %d, found %d",
                             i + 1, order->count, j, announced[j], ddp->ready[j]);
    return wrong;
}

/* After each announcement exactly those have left, in the plan's order. */
static int announce(struct hand *hand, struct grade *grade, const struct bucket_order *order)
{
    struct model_listener hears = ddp_listener(&hand->ddp);
    bool announced[MODEL_TENSORS_MOST] = {false};
    size_t before = 0, expected = 0; // the last announcement, and after it
    int wrong = 0;
    hand->count = 0;
    hand->traced = trace_count(hand->ddp.trace, TRACE_COMPUTE);
    ddp_begin(&hand->ddp);
    for (size_t i = 0; i < order->count && !wrong; i++) {
        announced[order->tensors[i]] = true;
        hears.on_ready(hears.context, order->tensors[i]);
        before = expected;
        expected = full(hand, announced);
        wrong =
            grade_expect(grade, hand->count == expected,
                         "%zu of %zu tensors ready, %s the last: expected %zu buckets handed over, "
                         "found %zu",
                         i + 1, order->count, hand->model.tensors[order->tensors[i]].name, expected,
                         hand->count) ||
            check_noted(hand, grade, announced, order, i);
    }
    wrong = wrong || grade_expect(grade, hand->ddp.handed_over == before,
                                  "all tensors ready: expected handed_over %zu, the buckets that "
                                  "left while a gradient was missing, found %zu",
                                  before, hand->ddp.handed_over);
    for (size_t i = 0; i < hand->count && !wrong; i++)
        wrong = grade_expect(grade, hand->submitted[i] == i,
                             "handed over as number %zu: expected bucket %zu, found %zu", i, i,
                             hand->submitted[i]);
    return wrong;
}

int ddp_turns(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct hand hand;
        wrong = hand_open(&hand, grade);
        struct bucket_order order = drawn_order(grade, &hand.model);
        wrong = wrong || announce(&hand, grade, &order);
        hand_close(&hand);
    }
    return wrong;
}

/* What ddp_wait would still hand over. */
static void hand_over_the_rest(struct hand *hand)
{
    struct ddp *ddp = &hand->ddp;
    while (ddp->next < ddp->plan.count && ddp->missing[ddp->next] == 0)
        ddp->submit(ddp, ddp->next++);
}

/* Several steps of one ddp: each bucket in each step once, whenever in it. */
static int check_steps(struct hand *hand, struct grade *grade)
{
    size_t times[MODEL_TENSORS_MOST] = {0}, early = 0;
    struct model_listener hears = ddp_listener(&hand->ddp);
    struct bucket_order order = bucket_order_reverse(&hand->model);
    int wrong = 0;
    for (size_t step = 0; step < STEPS && !wrong; step++) {
        hand->count = 0;
        hand->ddp.unused = true; // in the step before
        ddp_begin(&hand->ddp);
        wrong = grade_expect(grade, !hand->ddp.unused,
                             "ddp_begin: expected unused to be false in a new step, found it true");
        for (size_t i = 0; i < order.count; i++)
            hears.on_ready(hears.context, order.tensors[i]);
        early = step == 0 ? hand->ddp.handed_over : early;
        wrong = wrong || grade_expect(grade, hand->ddp.handed_over == early,
                                      "step %zu: expected handed_over %zu, as in step 0, found %zu",
                                      step, early, hand->ddp.handed_over);
        hand_over_the_rest(hand);
        for (size_t i = 0; i < hand->count; i++)
            times[hand->submitted[i] % MODEL_TENSORS_MOST]++;
        for (size_t i = 0; i < hand->ddp.plan.count && !wrong; i++)
            wrong = grade_expect(grade, times[i] == step + 1,
                                 "bucket %zu, after %zu steps: expected it handed over %zu times, "
                                 "found %zu",
                                 i, step + 1, step + 1, times[i]);
    }
    return wrong;
}

int ddp_steps(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct hand hand;
        wrong = hand_open(&hand, grade) || check_steps(&hand, grade);
        hand_close(&hand);
    }
    return wrong;
}

/* Without overlap nothing leaves in backward; and a tensor without a bucket makes none leave. */
static int check_holds(struct hand *hand, struct grade *grade)
{
    struct model_listener hears = ddp_listener(&hand->ddp);
    struct bucket_order order = bucket_order_reverse(&hand->model);
    size_t spare = hand->model.tensor_count; // of a bucket of its own: none
    hand->ddp.overlap = false;
    hand->ddp.plan.of_tensor[spare] = BUCKET_NONE;
    ddp_begin(&hand->ddp);
    hears.on_ready(hears.context, spare);
    for (size_t i = 0; i < order.count; i++)
        hears.on_ready(hears.context, order.tensors[i]);
    int wrong = grade_expect(grade, hand->count == 0,
                             "--no-overlap: expected no bucket handed over in backward, found %zu",
                             hand->count);
    hand_over_the_rest(hand);
    return wrong || grade_expect(grade, hand->count == hand->ddp.plan.count,
                                 "after backward: expected all %zu buckets full, found %zu",
                                 hand->ddp.plan.count, hand->count);
}

int ddp_holds(struct grade *grade)
{
    int wrong = 0;
    for (size_t i = 0; i < MODELS && !wrong; i++) {
        struct hand hand;
        wrong = hand_open(&hand, grade) || check_holds(&hand, grade);
        hand_close(&hand);
    }
    return wrong;
}

/* --- real ranks ------------------------------------------------------------------------------ */

/* Reduces it on the spot. */
static void on_submit_reduce(struct ddp *ddp, size_t bucket)
{
    struct hand *hand = ddp->owner;
    on_submit(ddp, bucket);
    comm_tag(ddp->comm, (uint32_t)bucket);
    if (!hand->error)
        hand->error = ddp_allreduce(ddp, bucket);
}

/* A hand over a real run. */
static void hand_take(struct hand *hand, struct run *run, struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    struct grade same = *drawn->grade; // every rank cuts alike
    *hand = (struct hand){0};
    hand->ddp = (struct ddp){.comm = self->comm,
                             .model = &run->model,
                             .grad = run->grad,
                             .reduce = ddp_allreduce,
                             .submit = on_submit_reduce,
                             .owner = hand,
                             .overlap = true,
                             .updates = &run->optimizer.updates,
                             .plan = drawn_plan(&same, &run->model)};
    uv_mutex_init(&hand->ddp.worker.lock);
    run->trainer.listener = ddp_listener(&hand->ddp);
}

static int reduce_step(struct hand *hand, struct run *run, const struct step *step)
{
    hand->count = 0;
    ddp_begin(&hand->ddp);
    trainer_gradient(&run->trainer, step);
    hand_over_the_rest(hand);
    comm_tag(hand->ddp.comm, 0);
    return hand->error;
}

/* Lesson 2's way: its ring, bucket by bucket, after backward. */
static int check_sums(struct hand *hand, struct run *run, struct ranks_self *self, size_t index)
{
    float expected[DRAWN_COUNT_MOST];
    struct step step = sampler_step(&run->sampler, index);
    int wrong = reduce_step(hand, run, &step);
    inside_gradient(run, &step, expected);
    for (size_t i = 0; i < hand->ddp.plan.count && !wrong; i++) {
        struct slice slice = hand->ddp.plan.buckets[i].slice;
        float *bucket = expected + slice.begin;
        wrong = ring_allreduce(self->comm, bucket, bucket, slice.count, COMM_F32, COMM_SUM);
    }
    for (size_t i = 0; i < run->model.count && !wrong; i++)
        wrong = ranks_expect(self, memcmp(&run->grad[i], &expected[i], sizeof *expected) == 0,
                             "step %zu, %s: gradient[%zu]: expected lesson 2's %.9g, found %.9g",
                             index, model_tensor_at(&run->model, i)->name, i, (double)expected[i],
                             (double)run->grad[i]);
    for (size_t i = 0; i < run->model.count; i++)
        run->param[i] -= 0.05f * expected[i];
    return wrong;
}

static int sums_body(struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    struct inside inside;
    struct hand hand;
    int wrong = inside_open(&inside, self, 3, drawn->arguments);
    if (wrong)
        return 1;
    hand_take(&hand, &inside.run, self);
    for (size_t i = 0; i < STEPS && !wrong; i++)
        wrong = check_sums(&hand, &inside.run, self, i);
    hand_close(&hand);
    return wrong ? 1 : 0;
}

int ddp_sums(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, 3, "--batch 13 --steps 9");
    return grade_ranks(grade, grade_world(grade), sums_body, &drawn);
}

/* What lesson 2's ring sends for a bucket: all chunks but its own on their way home, all but the next rank's on
 * the way round. */
static uint64_t ring_bytes(size_t count, int world, int rank)
{
    size_t elements = 2 * count - oracle_slice(count, world, rank).count -
                      oracle_slice(count, world, rank + 1).count;
    return elements * sizeof(float) + 2 * ((uint64_t)world - 1) * WIRE_FRAME_BYTES;
}

static int counted_body(struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    struct inside inside;
    struct hand hand;
    uint64_t expected = 0;
    if (inside_open(&inside, self, 3, drawn->arguments))
        return 1;
    hand_take(&hand, &inside.run, self);
    for (size_t i = 0; i < hand.ddp.plan.count; i++)
        expected += ring_bytes(hand.ddp.plan.buckets[i].slice.count, self->world, self->rank);
    struct step step = sampler_step(&inside.run.sampler, 0);
    uint64_t bytes = comm_bytes_sent(self->comm), messages = comm_messages_sent(self->comm);
    uint64_t rounds = 2 * ((uint64_t)self->world - 1) * hand.ddp.plan.count;
    int wrong = reduce_step(&hand, &inside.run, &step);
    bytes = comm_bytes_sent(self->comm) - bytes;
    messages = comm_messages_sent(self->comm) - messages;
    if (!wrong)
        wrong = ranks_expect(
            self, bytes == expected && messages == rounds,
            "%zu buckets: expected %llu bytes sent in %llu messages, found %llu in %llu",
            hand.ddp.plan.count, (unsigned long long)expected, (unsigned long long)rounds,
            (unsigned long long)bytes, (unsigned long long)messages);
    hand_close(&hand);
    return wrong ? 1 : 0;
}

int ddp_counted(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, 4, "--batch 13 --steps 9");
    return grade_ranks(grade, grade_world(grade), counted_body, &drawn);
}
