/*
 * trace: what a rank did when. Spans of time on two lanes, kept in memory until the run ends.
 *
 *     compute  | data | forward fc1 | forward fc2 | loss | backward fc2 | backward fc1 | wait | optimizer |
 *     network                                                   | bucket 0 |   bucket 1     |
 *
 * A lane is a ring of records: taking one down is two looks at the clock and a copy, and takes no
 * memory; when the ring is full the oldest make room. One thread at a time writes a lane, so there
 * is no lock: the training thread computes, and whoever has the communicator has the network.
 *
 * A NULL trace is off: every call returns at once.
 */
#ifndef COMMON_TRACE_H
#define COMMON_TRACE_H

#include "common/memory.h"

#include <stddef.h>
#include <stdint.h>

enum trace_lane { TRACE_COMPUTE, TRACE_NETWORK, TRACE_LANES };

/* From TRACE_ALLREDUCE on they are of the network. */
enum trace_kind {
    TRACE_DATA,     // samples are gathered
    TRACE_FORWARD,  // of a layer
    TRACE_LOSS,     // and its gradient
    TRACE_BACKWARD, // of a layer
    TRACE_READY,    // an instant: a tensor's gradient is final
    TRACE_WAIT,     // for the sum of the gradients, or for parameters
    TRACE_SHARE,    // the loss goes from rank to rank
    TRACE_VERIFY,
    TRACE_OPTIMIZER,
    TRACE_EVALUATION,
    TRACE_CHECKPOINT,
    TRACE_ALLREDUCE, // of the whole gradient
    TRACE_BUCKET,    // of one bucket
    TRACE_GATHER,    // of parameters
    TRACE_KINDS,
};

struct trace_event {
    double begin_seconds, end_seconds; // on clock_seconds(); the same: an instant
    uint32_t step, kind;
    uint32_t index;     // of a bucket, from 0; of a layer, from 1, or 0: of none
    uint32_t tensors;   // of the network: how many tensors,
    uint64_t elements;  // elements,
    uint64_t bytes;     // their bytes,
    char algorithm[16]; // and by which algorithm
    char tensor[24];    // the one that is ready: "fc2.weight"
};

struct trace_ring {
    struct trace_event *events; // (TRACE_CAPACITY): record i is at i % TRACE_CAPACITY
    size_t count;               // records so far, those that made room included
};

enum { TRACE_CAPACITY = 16384 };

struct trace {
    struct trace_ring lanes[TRACE_LANES];
    uint32_t step;         // of what is recorded now
    double origin_seconds; // the moment that files count from
    struct memory *memory;
};

/* 0 or -ENOMEM. Release accepts a zeroed one. */
int trace_init(struct trace *trace, struct memory *memory);
void trace_release(struct trace *trace);
size_t trace_memory_bytes(void); // what trace_init takes

/* The moment something begins, for trace_end or .begin_seconds. */
double trace_begin(const struct trace *trace);

/* Something of the compute lane ends: of a layer, from 1, or of none, 0. */
void trace_end(struct trace *trace, enum trace_kind kind, size_t layer, double began_seconds);

/* The same, begun when the lane's latest record ended. */
void trace_since(struct trace *trace, enum trace_kind kind);

/* A tensor's gradient is final. */
void trace_ready(struct trace *trace, const char *tensor);

/* Something of the network ends; .step and .end_seconds are filled in. */
void trace_network(struct trace *trace, const struct trace_event *event);

enum trace_lane trace_lane(enum trace_kind kind);

/* The first step of which no lane has lost a record. */
size_t trace_first_step(const struct trace *trace);

/* Record i of a lane, the oldest first; i < trace_count. */
size_t trace_count(const struct trace *trace, enum trace_lane lane);
const struct trace_event *trace_at(const struct trace *trace, enum trace_lane lane, size_t i);

/* All records from a step on, the compute lane's before the network's. NULL: no more. */
struct trace_reader {
    const struct trace *trace;
    size_t first_step;
    size_t next; // counts through the one lane, then the other
};
const struct trace_event *trace_next(struct trace_reader *reader);

enum { TRACE_LABEL_BYTES = 40 };

/* "forward fc2", "bucket 3", "fc2.weight ready" */
void trace_label(const struct trace_event *event, char text[TRACE_LABEL_BYTES]);

#endif
