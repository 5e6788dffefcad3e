/*
 * memory_plan: what a rank will keep, in bytes, by formula. Nothing is taken and nothing is sent.
 *
 * P parameters, T of them trained, n ranks, s arrays of optimizer state (Adam: 2), floats of 4 bytes.
 * own: what rank r owns, chunk r (slice_of) of every bucket: about T / n.
 *
 *                  parameters     gradients      optimizer
 *     one process  4 P            4 P            4 s T
 *     DDP          4 P            4 P            4 s T         n times the same
 *     ZeRO 1       4 P            4 P            4 s own
 *     ZeRO 2       4 P            4 own          4 s own       and a pool of buckets being filled
 *     ZeRO 3       4 (own + kept) 4 own          4 s own       and another of those gathered
 *     offload                                    a few tiles of each state, the rest is in a file
 *
 * kept: buckets of at most --persist-kb, and frozen tensors. Activations, and all buffers but the
 * pools, are the same in all of them; one process has no links. The ledger
 * holds every run against this (ledger.h), --plan prints it without a run (advice.h).
 * Rajbhandari et al., "ZeRO", SC 2020, section 5 and figure 1: there Adam in mixed precision, 16
 * bytes a parameter of which 12 are the optimizer's; here floats, 16 bytes of which 8 are.
 */
#ifndef LESSON04_MEMORY_PLAN_H
#define LESSON04_MEMORY_PLAN_H

#include "common/memory.h"
#include "lesson01_single/run.h"
#include "lesson03_ddp/bucket.h"
#include "lesson04_zero/script.h"

#include <stdbool.h>

/* Stages of ZeRO, from 1; and what is below them. */
enum { STAGE_ALONE = -1, STAGE_DDP = 0, STAGE_MOST = 3 };

/* What the bytes depend on. */
struct memory_case {
    const struct model *model;
    const struct options *options; // but for what is named below
    struct bucket_plan buckets;
    struct script script; // what a training pass asks for
    int stage, world;
    bool offloads;      // the optimizer's state lies in a file
    size_t batch;       // samples of a micro-batch over all ranks
    size_t accumulate;  // micro-batches of an update
    size_t recompute;   // every such activation is kept
    size_t train, test; // samples
    size_t targets;     // numbers of a sample's target: 1 for a class
    bool wants_norm;    // clipping or metrics ask for the gradient's norm
    bool shares_finite; // ranks tell each other whether their gradients are finite
};

/* What the buffers are for. */
enum memory_buffer {
    BUFFER_DATA,     // samples to train and to test on, and their order
    BUFFER_BATCH,    // labels or targets of the micro-batch at hand
    BUFFER_LINKS,    // the communicator: staging of each link, queues of slowed ones
    BUFFER_COMPRESS, // gradients as bf16, and what error feedback keeps
    BUFFER_POOLS,    // stage 2: buckets of gradients; stage 3: and of parameters
    BUFFER_RECORD,   // a line of --record
    BUFFERS,
};

struct memory_plan {
    size_t bytes[MEMORY_USES];
    size_t buffers[BUFFERS]; // they add up to bytes[MEMORY_BUFFERS]
    size_t total_bytes;
};

/* A run as it is: its model, data and options, at its own stage and world. After run_prepare. */
struct memory_case memory_case_of(const struct run *run);

struct memory_plan memory_plan_of(const struct memory_case *of, size_t rank);

/* Parameters of which this rank keeps the optimizer's state. */
size_t memory_owned(const struct memory_case *of, size_t rank);

/* "data", "batch", ... */
const char *memory_buffer_name(enum memory_buffer buffer);

#endif
