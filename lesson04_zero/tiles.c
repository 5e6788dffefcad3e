/* tiles: arrays in a file, walked through in memory a tile at a time. See the header. */
#include "lesson04_zero/tiles.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static size_t slots_of(size_t tile_count)
{
    return tile_count < TILES_SLOTS ? tile_count : TILES_SLOTS;
}

size_t tiles_bytes(const struct tilefile_plan *plan)
{
    struct tilefile file = tilefile_measure(plan);
    return sizeof(float) * slots_of(file.tile_count) * file.arrays * file.tile +
           tilefile_hash_bytes(&file);
}

/* --- the three stages ------------------------------------------------------------------------ */

/* What a stage takes, what it makes of it meanwhile, and what it leaves to the next. */
static const struct {
    enum tile_state takes, holds, leaves;
} stages[TILES_STAGES] = {
    [TILES_READER] = {TILE_FREE, TILE_READING, TILE_READY},
    [TILES_CALLER] = {TILE_READY, TILE_IN_USE, TILE_DONE},
    [TILES_WRITER] = {TILE_DONE, TILE_WRITING, TILE_FREE},
};

/* With the lock held. */
static void move(struct tiles *tiles, size_t index, enum tile_state from, enum tile_state to)
{
    enum tile_state *state = &tiles->state[index % tiles->slots];
    assert(*state == from);
    *state = to;
    uv_cond_broadcast(&tiles->changed);
}

static bool can_take(const struct tiles *tiles, enum tiles_stage stage)
{
    size_t next = tiles->taken[stage];
    return next < tiles->limit && tiles->state[next % tiles->slots] == stages[stage].takes;
}

static bool is_over(const struct tiles *tiles)
{
    return tiles->stopping || tiles->fail.code != 0;
}

/* With the lock held: waits for the stage's next tile. False: there will be none. */
static bool take(struct tiles *tiles, enum tiles_stage stage, size_t *index)
{
    while (!can_take(tiles, stage) && !is_over(tiles))
        uv_cond_wait(&tiles->changed, &tiles->lock);
    if (is_over(tiles))
        return false;
    *index = tiles->taken[stage]++;
    move(tiles, *index, stages[stage].takes, stages[stage].holds);
    return true;
}

/* With the lock held. */
static void give(struct tiles *tiles, enum tiles_stage stage)
{
    move(tiles, tiles->given[stage]++, stages[stage].holds, stages[stage].leaves);
}

static int move_bytes(struct tiles *tiles, enum tiles_stage stage, size_t index, struct fail *fail)
{
    int error = 0;
    for (size_t array = 0; array < tiles->file.arrays && !error; array++) {
        float *values = tiles->slot[index % tiles->slots][array];
        error = stage == TILES_READER ? tilefile_read(&tiles->file, index, array, values, fail)
                                      : tilefile_write(&tiles->file, index, array, values, fail);
    }
    return error;
}

static void walk(struct tiles *tiles, enum tiles_stage stage, size_t *moved_bytes)
{
    size_t index;
    uv_mutex_lock(&tiles->lock);
    while (take(tiles, stage, &index)) {
        struct fail fail = {0};
        uv_mutex_unlock(&tiles->lock);
        move_bytes(tiles, stage, index, &fail);
        uv_mutex_lock(&tiles->lock);
        if (fail.code)
            fail_set(&tiles->fail, fail.code, "%s", fail.text);
        *moved_bytes +=
            tilefile_part(&tiles->file, index).count * tiles->file.arrays * sizeof(float);
        give(tiles, stage);
    }
    uv_mutex_unlock(&tiles->lock);
}

static void run_reader(void *argument)
{
    struct tiles *tiles = argument;
    walk(tiles, TILES_READER, &tiles->moved.read_bytes);
}

static void run_writer(void *argument)
{
    struct tiles *tiles = argument;
    walk(tiles, TILES_WRITER, &tiles->moved.written_bytes);
}

void tiles_begin(struct tiles *tiles)
{
    uv_mutex_lock(&tiles->lock);
    assert(tiles->limit == 0);
    memset(tiles->held, 0, sizeof tiles->held);
    for (int stage = 0; stage < TILES_STAGES; stage++)
        tiles->taken[stage] = tiles->given[stage] = 0;
    tiles->limit = tiles->file.tile_count;
    uv_cond_broadcast(&tiles->changed);
    uv_mutex_unlock(&tiles->lock);
}

bool tiles_next(struct tiles *tiles, struct tile *tile)
{
    size_t index;
    uv_mutex_lock(&tiles->lock);
    if (tiles->taken[TILES_CALLER] > tiles->given[TILES_CALLER])
        give(tiles, TILES_CALLER);
    bool more = tiles->taken[TILES_CALLER] < tiles->limit && take(tiles, TILES_CALLER, &index);
    uv_mutex_unlock(&tiles->lock);
    if (!more)
        return false;
    tile->part = tilefile_part(&tiles->file, index);
    memcpy(tile->array, tiles->slot[index % tiles->slots], sizeof tile->array);
    return true;
}

int tiles_end(struct tiles *tiles, struct fail *fail)
{
    uv_mutex_lock(&tiles->lock);
    while (tiles->given[TILES_WRITER] < tiles->limit && !is_over(tiles))
        uv_cond_wait(&tiles->changed, &tiles->lock);
    tiles->limit = 0;
    if (tiles->fail.code)
        fail_set(fail, tiles->fail.code, "%s", tiles->fail.text);
    int error = tiles->fail.code;
    uv_mutex_unlock(&tiles->lock);
    return error;
}

struct tiles_moved tiles_moved(struct tiles *tiles)
{
    uv_mutex_lock(&tiles->lock);
    struct tiles_moved moved = tiles->moved;
    uv_mutex_unlock(&tiles->lock);
    return moved;
}

/* --- between passes -------------------------------------------------------------------------- */

/* An array's tile in slot 0, where the next part asked for is likely to be as well. */
static int hold(struct tiles *tiles, size_t array, size_t index, struct fail *fail)
{
    size_t *held = &tiles->held[array];
    if (*held == index + 1)
        return 0;
    int error = tilefile_read(&tiles->file, index, array, tiles->slot[0][array], fail);
    *held = error ? 0 : index + 1;
    return error;
}

int tiles_get(struct tiles *tiles, size_t array, struct slice part, float *values,
              struct fail *fail)
{
    const float *whole = tiles->slot[0][array];
    int error = 0;
    for (size_t index = 0; index < tiles->file.tile_count && !error; index++) {
        struct slice tile = tilefile_part(&tiles->file, index), both = slice_overlap(tile, part);
        if (both.count == 0)
            continue;
        error = hold(tiles, array, index, fail);
        if (!error)
            memcpy(values + (both.begin - part.begin), whole + (both.begin - tile.begin),
                   both.count * sizeof *values);
    }
    return error;
}

int tiles_put(struct tiles *tiles, size_t array, struct slice part, const float *values,
              struct fail *fail)
{
    float *whole = tiles->slot[0][array];
    int error = 0;
    for (size_t index = 0; index < tiles->file.tile_count && !error; index++) {
        struct slice tile = tilefile_part(&tiles->file, index), both = slice_overlap(tile, part);
        if (both.count == 0)
            continue;
        error = hold(tiles, array, index, fail);
        if (error)
            break;
        memcpy(whole + (both.begin - tile.begin), values + (both.begin - part.begin),
               both.count * sizeof *values);
        error = tilefile_write(&tiles->file, index, array, whole, fail);
        if (error)
            tiles->held[array] = 0;
    }
    return error;
}

/* --- life ------------------------------------------------------------------------------------ */

static int take_memory(struct tiles *tiles, struct memory *memory)
{
    bool all = true;
    tiles->memory = memory;
    tiles->slots = slots_of(tiles->file.tile_count);
    for (size_t i = 0; i < tiles->slots; i++)
        for (size_t j = 0; j < tiles->file.arrays; j++) {
            tiles->slot[i][j] = memory_floats(memory, MEMORY_OPTIMIZER, tiles->file.tile);
            all = all && tiles->slot[i][j];
        }
    return all ? 0 : -ENOMEM;
}

static int start(struct tiles *tiles)
{
    int error = uv_mutex_init(&tiles->lock);
    if (error)
        return error;
    error = uv_cond_init(&tiles->changed);
    if (error) {
        uv_mutex_destroy(&tiles->lock);
        return error;
    }
    tiles->lockable = true;
    error = uv_thread_create(&tiles->threads[0], run_reader, tiles);
    tiles->thread_count = error == 0;
    if (!error)
        error = uv_thread_create(&tiles->threads[1], run_writer, tiles);
    tiles->thread_count += error == 0;
    return error;
}

int tiles_open(struct tiles *tiles, const struct tilefile_plan *plan, struct memory *memory,
               struct fail *fail)
{
    *tiles = (struct tiles){0};
    int error = tilefile_open(&tiles->file, plan, memory, fail);
    if (error)
        return error;
    error = take_memory(tiles, memory);
    if (error)
        return fail_set(fail, error, "--offload: no memory for %zu tiles of %zu floats",
                        tiles->slots * plan->arrays, tiles->file.tile);
    error = tilefile_clear(&tiles->file, tiles->slot[0][0], fail);
    if (error)
        return error;
    error = start(tiles);
    return error ? fail_set(fail, error, "--offload: cannot start a thread: %s", uv_strerror(error))
                 : 0;
}

static void stop(struct tiles *tiles)
{
    uv_mutex_lock(&tiles->lock);
    tiles->stopping = true;
    uv_cond_broadcast(&tiles->changed);
    uv_mutex_unlock(&tiles->lock);
    for (size_t i = 0; i < tiles->thread_count; i++)
        uv_thread_join(&tiles->threads[i]);
    uv_cond_destroy(&tiles->changed);
    uv_mutex_destroy(&tiles->lock);
}

void tiles_close(struct tiles *tiles)
{
    if (tiles->lockable)
        stop(tiles);
    for (size_t i = 0; i < tiles->slots; i++)
        for (size_t j = 0; j < tiles->file.arrays; j++)
            memory_return(tiles->memory, MEMORY_OPTIMIZER, tiles->slot[i][j], tiles->file.tile);
    tilefile_close(&tiles->file);
    *tiles = (struct tiles){0};
}
