/* trace: what a rank did when. See the header. */
#include "common/trace.h"
#include "common/clock.h"

#include <errno.h>
#include <stdio.h>

static const char *const kinds[TRACE_KINDS] = {
    [TRACE_DATA] = "data",           [TRACE_FORWARD] = "forward",
    [TRACE_LOSS] = "loss",           [TRACE_BACKWARD] = "backward",
    [TRACE_READY] = "ready",         [TRACE_WAIT] = "wait",
    [TRACE_SHARE] = "share loss",    [TRACE_VERIFY] = "verify",
    [TRACE_OPTIMIZER] = "optimizer", [TRACE_EVALUATION] = "evaluation",
    [TRACE_CHECKPOINT] = "save",     [TRACE_ALLREDUCE] = "all-reduce",
    [TRACE_BUCKET] = "bucket",       [TRACE_GATHER] = "all-gather",
};

static size_t floats_of_lane(void)
{
    return TRACE_CAPACITY * sizeof(struct trace_event) / sizeof(float);
}

size_t trace_memory_bytes(void)
{
    return TRACE_LANES * floats_of_lane() * sizeof(float);
}

int trace_init(struct trace *trace, struct memory *memory)
{
    *trace = (struct trace){.memory = memory, .origin_seconds = clock_seconds()};
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        float *events = memory_floats(memory, MEMORY_OTHER, floats_of_lane());
        trace->lanes[lane].events = (struct trace_event *)(void *)events;
        if (!events) {
            trace_release(trace);
            return -ENOMEM;
        }
    }
    return 0;
}

void trace_release(struct trace *trace)
{
    for (int lane = 0; lane < TRACE_LANES; lane++)
        memory_return(trace->memory, MEMORY_OTHER, (float *)(void *)trace->lanes[lane].events,
                      floats_of_lane());
    *trace = (struct trace){0};
}

enum trace_lane trace_lane(enum trace_kind kind)
{
    return kind >= TRACE_ALLREDUCE ? TRACE_NETWORK : TRACE_COMPUTE;
}

static void keep(struct trace *trace, const struct trace_event *event)
{
    struct trace_ring *ring = &trace->lanes[trace_lane(event->kind)];
    struct trace_event *to = &ring->events[ring->count++ % TRACE_CAPACITY];
    *to = *event;
    to->step = trace->step;
}

double trace_begin(const struct trace *trace)
{
    return trace ? clock_seconds() : 0;
}

void trace_end(struct trace *trace, enum trace_kind kind, size_t layer, double began_seconds)
{
    if (!trace)
        return;
    struct trace_event event = {
        .begin_seconds = began_seconds,
        .end_seconds = clock_seconds(),
        .kind = kind,
        .index = (uint32_t)layer,
    };
    keep(trace, &event);
}

void trace_since(struct trace *trace, enum trace_kind kind)
{
    if (!trace)
        return;
    const struct trace_ring *ring = &trace->lanes[TRACE_COMPUTE];
    double began = clock_seconds();
    if (ring->count > 0)
        began = ring->events[(ring->count - 1) % TRACE_CAPACITY].end_seconds;
    trace_end(trace, kind, 0, began);
}

void trace_ready(struct trace *trace, const char *tensor)
{
    if (!trace)
        return;
    struct trace_event event = {.kind = TRACE_READY, .begin_seconds = clock_seconds()};
    event.end_seconds = event.begin_seconds;
    snprintf(event.tensor, sizeof event.tensor, "%s", tensor);
    keep(trace, &event);
}

void trace_network(struct trace *trace, const struct trace_event *event)
{
    if (!trace)
        return;
    struct trace_event ended = *event;
    ended.end_seconds = clock_seconds();
    keep(trace, &ended);
}

size_t trace_count(const struct trace *trace, enum trace_lane lane)
{
    size_t count = trace->lanes[lane].count;
    return count < TRACE_CAPACITY ? count : TRACE_CAPACITY;
}

const struct trace_event *trace_at(const struct trace *trace, enum trace_lane lane, size_t i)
{
    const struct trace_ring *ring = &trace->lanes[lane];
    size_t oldest = ring->count - trace_count(trace, lane);
    return &ring->events[(oldest + i) % TRACE_CAPACITY];
}

size_t trace_first_step(const struct trace *trace)
{
    size_t first = 0;
    for (int lane = 0; lane < TRACE_LANES; lane++)
        if (trace->lanes[lane].count > TRACE_CAPACITY) {
            size_t after = (size_t)trace_at(trace, (enum trace_lane)lane, 0)->step + 1;
            first = after > first ? after : first;
        }
    return first;
}

const struct trace_event *trace_next(struct trace_reader *reader)
{
    size_t computed = trace_count(reader->trace, TRACE_COMPUTE);
    size_t all = computed + trace_count(reader->trace, TRACE_NETWORK);
    while (reader->next < all) {
        size_t i = reader->next++;
        const struct trace_event *event =
            i < computed ? trace_at(reader->trace, TRACE_COMPUTE, i)
                         : trace_at(reader->trace, TRACE_NETWORK, i - computed);
        if (event->step >= reader->first_step)
            return event;
    }
    return NULL;
}

void trace_label(const struct trace_event *event, char text[TRACE_LABEL_BYTES])
{
    const char *kind = kinds[event->kind];
    unsigned index = (unsigned)event->index;
    if (event->kind == TRACE_READY)
        snprintf(text, TRACE_LABEL_BYTES, "%s ready", event->tensor);
    else if (event->kind == TRACE_BUCKET || event->kind == TRACE_GATHER)
        snprintf(text, TRACE_LABEL_BYTES, "%s %u", kind, index);
    else if (index > 0)
        snprintf(text, TRACE_LABEL_BYTES, "%s fc%u", kind, index);
    else
        snprintf(text, TRACE_LABEL_BYTES, "%s", kind);
}
