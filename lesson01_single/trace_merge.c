/* trace_merge: all ranks' records into one file. See the header. */
#include "lesson01_single/trace_merge.h"
#include "common/timeline.h"
#include "common/trace_file.h"
#include "lesson01_single/reference.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum {
    WORLD_MOST = ENVIRONMENT_WORLD_MOST,
    EVENTS = 64, // that each rank sends at a time
    EVENT_NUMBERS = sizeof(struct trace_event) / sizeof(double),
    NUMBERS = 1 + EVENTS * EVENT_NUMBERS, // how many, and they
};

/* What is merged, and into what. */
struct merge {
    struct run *run;
    struct trace_reader reader;
    struct trace_file file; // of rank 0, when there are more
    struct timeline timeline;
    size_t drawn_step;
    double *mine, *all; // (NUMBERS), (world, NUMBERS)
};

/* Is it part of the update that is drawn? */
static bool draws(const struct merge *merge, const struct trace_event *event)
{
    return event->step == merge->drawn_step && event->kind != TRACE_EVALUATION &&
           event->kind != TRACE_CHECKPOINT;
}

/* The ranks' last common steps, and from when to when the last of them took. */
static int plan(struct merge *merge)
{
    struct run *run = merge->run;
    double mine[3] = {(double)trace_first_step(run->trace), INFINITY, -INFINITY};
    double all[3 * WORLD_MOST], window[2] = {INFINITY, -INFINITY};
    merge->drawn_step = run->updates - 1;
    for (size_t i = 0; i < trace_count(run->trace, TRACE_COMPUTE); i++) {
        const struct trace_event *event = trace_at(run->trace, TRACE_COMPUTE, i);
        if (!draws(merge, event))
            continue;
        mine[1] = fmin(mine[1], event->begin_seconds - run->trace->origin_seconds);
        mine[2] = fmax(mine[2], event->end_seconds - run->trace->origin_seconds);
    }
    int error = run_share(run, mine, 3, all);
    for (int rank = 0; rank < run->environment.world && !error; rank++) {
        size_t first = (size_t)all[3 * rank];
        merge->reader.first_step =
            first > merge->reader.first_step ? first : merge->reader.first_step;
        window[0] = fmin(window[0], all[3 * rank + 1]);
        window[1] = fmax(window[1], all[3 * rank + 2]);
    }
    timeline_init(&merge->timeline, window[0], window[1], run->environment.world);
    return error;
}

/* Rank 0's part of a round. Records count from their rank's origin already. */
static void take(struct merge *merge)
{
    for (int rank = 0; rank < merge->run->environment.world; rank++) {
        const double *theirs = merge->all + (size_t)rank * NUMBERS;
        for (size_t i = 0; i < (size_t)theirs[0]; i++) {
            struct trace_event event;
            memcpy(&event, theirs + 1 + i * EVENT_NUMBERS, sizeof event);
            if (merge->file.file)
                trace_file_event(&merge->file, rank, &event, 0);
            if (draws(merge, &event))
                timeline_add(&merge->timeline, rank, &event);
        }
    }
}

/* The next records of each rank to all. *more: some rank may have still more. */
static int exchange(struct merge *merge, bool *more)
{
    struct run *run = merge->run;
    const struct trace_event *event;
    size_t count = 0;
    while (count < EVENTS && (event = trace_next(&merge->reader)) != NULL) {
        struct trace_event sent = *event;
        sent.begin_seconds -= run->trace->origin_seconds;
        sent.end_seconds -= run->trace->origin_seconds;
        memcpy(merge->mine + 1 + count++ * EVENT_NUMBERS, &sent, sizeof sent);
    }
    merge->mine[0] = (double)count;
    int error = run_share(run, merge->mine, NUMBERS, merge->all);
    *more = false;
    for (int rank = 0; rank < run->environment.world && !error; rank++)
        *more = *more || merge->all[(size_t)rank * NUMBERS] == EVENTS;
    return error;
}

static int merge_records(struct merge *merge)
{
    struct run *run = merge->run;
    bool first = run->environment.rank == 0, more = true;
    int error = plan(merge);
    if (!error && first && run->environment.world > 1)
        error = trace_file_open(&merge->file, run->options.trace, &run->fail);
    for (int rank = 0; rank < run->environment.world && merge->file.file; rank++)
        trace_file_rank(&merge->file, rank);
    while (more && !error) {
        error = exchange(merge, &more);
        if (!error && first)
            take(merge);
    }
    int closed = trace_file_close(&merge->file, merge->reader.first_step, &run->fail);
    return error ? error : closed;
}

static void print_trace(const struct merge *merge)
{
    const struct run *run = merge->run;
    size_t first = merge->reader.first_step;
    if (run->environment.rank > 0 || run->options.quiet)
        return;
    timeline_print(&merge->timeline, merge->drawn_step, stdout);
    if (first > 0)
        printf("trace: %s begins with step %zu; there is room for the last %d spans of a lane\n",
               run->options.trace, first, TRACE_CAPACITY);
}

int trace_merge(struct run *run)
{
    static_assert(sizeof(struct trace_event) == EVENT_NUMBERS * sizeof(double), "no remainder");
    size_t world = (size_t)run->environment.world;
    struct merge merge = {.run = run, .reader = {.trace = run->trace}};
    merge.mine = reference_doubles(&run->memory, NUMBERS);
    merge.all = reference_doubles(&run->memory, world * NUMBERS);
    int error = merge.mine && merge.all
                    ? merge_records(&merge)
                    : fail_set(&run->fail, -ENOMEM, "no memory to merge traces");
    reference_return(&run->memory, merge.mine, NUMBERS);
    reference_return(&run->memory, merge.all, world * NUMBERS);
    if (!error)
        print_trace(&merge);
    return error;
}
