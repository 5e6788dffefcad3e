/* offload: the optimizer's state in a file. See the header. */
#include "lesson04_zero/offload.h"
#include "common/clock.h"

/* So that a file that --init names is not opened too often. */
enum { FILL_FLOATS = 16384 };

/* Whoever is waiting for this rank is told. The thread that asks the store has the communicator. */
static int told(struct offload *offload, int error, const struct fail *fail)
{
    if (error)
        comm_stop(offload->comm, fail);
    return error;
}

static int read_state(void *context, size_t state, struct slice part, float *values,
                      struct fail *fail)
{
    struct offload *offload = context;
    int error = tiles_get(&offload->tiles, state, part, values, fail);
    return told(offload, error, fail);
}

static int write_state(void *context, size_t state, struct slice part, const float *values,
                       struct fail *fail)
{
    struct offload *offload = context;
    int error = tiles_put(&offload->tiles, state, part, values, fail);
    return told(offload, error, fail);
}

/* The parameters are the array behind the states. */
static int read_param(void *context, size_t state, struct slice part, float *values,
                      struct fail *fail)
{
    struct offload *offload = context;
    int error = tiles_get(&offload->tiles, offload->states + state, part, values, fail);
    return told(offload, error, fail);
}

static int write_param(void *context, size_t state, struct slice part, const float *values,
                       struct fail *fail)
{
    struct offload *offload = context;
    int error = tiles_put(&offload->tiles, offload->states + state, part, values, fail);
    return told(offload, error, fail);
}

static struct tilefile_plan plan_for(const struct options *options, size_t count)
{
    return (struct tilefile_plan){
        .directory = options->offload,
        .count = count,
        .arrays = optimizer_states(options) + (options->stage >= 3),
        .tile = options->offload_tile_bytes / sizeof(float),
    };
}

size_t offload_bytes(const struct options *options, size_t count)
{
    struct tilefile_plan plan = plan_for(options, count);
    return tiles_bytes(&plan);
}

/* The parameters a run begins with, of an owned slice, by way of a small buffer. */
static int fill_param(struct offload *offload, struct run *run, struct slice slice, size_t at)
{
    float values[FILL_FLOATS];
    int error = 0;
    for (size_t done = 0; done < slice.count && !error; done += FILL_FLOATS) {
        size_t left = slice.count - done, count = left < FILL_FLOATS ? left : FILL_FLOATS;
        error = run_init_values(run, (struct slice){slice.begin + done, count}, values);
        if (!error)
            error = write_param(offload, 0, (struct slice){at + done, count}, values, &run->fail);
    }
    return error;
}

static int open_file(struct offload *offload, struct run *run, const struct slice *owned,
                     size_t owned_count)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < owned_count; i++)
        count += owned[i].count;
    struct tilefile_plan plan = plan_for(&run->options, count);
    plan.rank = run->environment.rank;
    int error = tiles_open(&offload->tiles, &plan, &run->memory, &run->fail);
    for (size_t i = 0; i < owned_count && run->param_store && !error; i++) {
        error = fill_param(offload, run, owned[i], at);
        at += owned[i].count;
    }
    return error;
}

int offload_init(struct offload *offload, struct run *run, struct comm *comm,
                 const struct slice *owned, size_t owned_count)
{
    *offload = (struct offload){.on = run->options.offload != NULL};
    if (!offload->on)
        return 0;
    offload->optimizer = &run->optimizer;
    offload->comm = comm;
    offload->states = optimizer_states(&run->options);
    offload->store = (struct optimizer_store){read_state, write_state, offload};
    offload->param_store = (struct optimizer_store){read_param, write_param, offload};
    run->store = &offload->store;
    run->param_store = run->options.stage >= 3 ? &offload->param_store : NULL;
    return told(offload, open_file(offload, run, owned, owned_count), &run->fail);
}

void offload_release(struct offload *offload)
{
    tiles_close(&offload->tiles);
    *offload = (struct offload){0};
}

static int update(struct offload *offload, struct run *run, struct rate rate)
{
    struct tile tile;
    tiles_begin(&offload->tiles);
    while (tiles_next(&offload->tiles, &tile)) {
        float *param = run->param_store ? tile.array[offload->states] : run->param;
        optimizer_part_step(offload->optimizer, param, run->grad, tile.array, tile.part, rate);
    }
    return tiles_end(&offload->tiles, &run->fail);
}

int offload_step(struct offload *offload, struct run *run, struct rate rate)
{
    double began = clock_seconds();
    struct tiles_moved before = tiles_moved(&offload->tiles);
    int error = rate.skip ? 0 : update(offload, run, rate);
    optimizer_count(offload->optimizer, rate);
    struct tiles_moved after = tiles_moved(&offload->tiles);
    run->offload = (struct metrics_offload){
        .read_bytes = after.read_bytes - before.read_bytes,
        .written_bytes = after.written_bytes - before.written_bytes,
        .seconds = clock_seconds() - began,
    };
    trace_end(run->trace, TRACE_OPTIMIZER, 0, began);
    profile_lap(run->profile, PROFILE_OPTIMIZER);
    return told(offload, error, &run->fail);
}
