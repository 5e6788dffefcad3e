/* offload: the optimizer's state in a file. See the header. */
#include "lesson04_zero/offload.h"
#include "common/clock.h"

static int read_state(void *context, size_t state, struct slice part, float *values,
                      struct fail *fail)
{
    struct offload *offload = context;
    return tiles_get(&offload->tiles, state, part, values, fail);
}

static int write_state(void *context, size_t state, struct slice part, const float *values,
                       struct fail *fail)
{
    struct offload *offload = context;
    return tiles_put(&offload->tiles, state, part, values, fail);
}

static struct tilefile_plan plan_for(const struct options *options, size_t count)
{
    return (struct tilefile_plan){
        .directory = options->offload,
        .count = count,
        .arrays = optimizer_states(options),
        .tile = options->offload_tile_bytes / sizeof(float),
    };
}

size_t offload_bytes(const struct options *options, size_t count)
{
    struct tilefile_plan plan = plan_for(options, count);
    return tiles_bytes(&plan);
}

int offload_init(struct offload *offload, struct run *run, struct comm *comm,
                 const struct slice *owned, size_t owned_count)
{
    size_t count = 0;
    *offload = (struct offload){.on = run->options.offload != NULL};
    if (!offload->on)
        return 0;
    for (size_t i = 0; i < owned_count; i++)
        count += owned[i].count;
    offload->optimizer = &run->optimizer;
    offload->comm = comm;
    offload->store = (struct optimizer_store){read_state, write_state, offload};
    run->store = &offload->store;
    struct tilefile_plan plan = plan_for(&run->options, count);
    plan.rank = run->environment.rank;
    int error = tiles_open(&offload->tiles, &plan, &run->memory, &run->fail);
    if (error)
        comm_stop(comm, &run->fail);
    return error;
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
    while (tiles_next(&offload->tiles, &tile))
        optimizer_part_step(offload->optimizer, run->param, run->grad, tile.array, tile.part, rate);
    return tiles_end(&offload->tiles, &run->fail);
}

int offload_step(struct offload *offload, struct run *run, struct rate rate)
{
    double began = clock_seconds();
    struct tiles_moved before = tiles_moved(&offload->tiles);
    int error = rate.skip ? 0 : update(offload, run, rate);
    optimizer_count(offload->optimizer, rate);
    if (error)
        comm_stop(offload->comm, &run->fail);
    struct tiles_moved after = tiles_moved(&offload->tiles);
    run->offload = (struct metrics_offload){
        .read_bytes = after.read_bytes - before.read_bytes,
        .written_bytes = after.written_bytes - before.written_bytes,
        .seconds = clock_seconds() - began,
    };
    trace_end(run->trace, TRACE_OPTIMIZER, 0, began);
    profile_lap(run->profile, PROFILE_OPTIMIZER);
    return error;
}
