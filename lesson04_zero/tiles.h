/*
 * tiles: arrays in a file, walked through in memory a tile at a time.
 *
 * A pass hands tile after tile to its caller. Meanwhile one thread reads those that follow and another
 * writes those that are done, so that disk and processor work at once:
 *
 *     reader     | read 0 | read 1  | read 2  | read 3  |
 *     caller              | step 0  | step 1  | step 2  | step 3  |
 *     writer                        | write 0 | write 1 | write 2 | write 3 |
 *
 * Three tiles are in memory, and each goes round: free, reading, ready, in use, done, writing, free. All
 * three stages take tiles in the same order, and a stage waits for nothing but the one before it, so
 * none can wait for ever.
 */
#ifndef LESSON04_TILES_H
#define LESSON04_TILES_H

#include "lesson04_zero/tilefile.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { TILES_ARRAYS_MOST = 3, TILES_SLOTS = 3 };

enum tile_state { TILE_FREE, TILE_READING, TILE_READY, TILE_IN_USE, TILE_DONE, TILE_WRITING };

enum tiles_stage { TILES_READER, TILES_CALLER, TILES_WRITER, TILES_STAGES };

struct tiles_moved {
    size_t read_bytes, written_bytes;
};

struct tiles {
    struct tilefile file;
    struct memory *memory;
    size_t slots;                                // tiles in memory: 3, or all, if there are fewer
    float *slot[TILES_SLOTS][TILES_ARRAYS_MOST]; // (file.tile) each
    size_t held[TILES_ARRAYS_MOST]; // between passes: 1 + the tile of each array in slot 0; or 0
    uv_thread_t threads[2];         // the reader and the writer
    size_t thread_count;
    bool lockable;

    uv_mutex_t lock; // held for everything below
    uv_cond_t changed;
    enum tile_state state[TILES_SLOTS];              // tile k is in slot k mod slots
    size_t taken[TILES_STAGES], given[TILES_STAGES]; // tiles of this pass
    size_t limit;                                    // tile_count during a pass, else 0
    bool stopping;
    struct fail fail;         // the first failure ends all work
    struct tiles_moved moved; // by passes, so far
};

/* What tiles_open takes: three tiles of each array, and 8 bytes for every tile of the file. */
size_t tiles_bytes(const struct tilefile_plan *plan);

/* Makes the file, all zeros, and starts the threads. 0, or a negative error with its sentence;
 * tiles_close is due. */
int tiles_open(struct tiles *tiles, const struct tilefile_plan *plan, struct memory *memory,
               struct fail *fail);
void tiles_close(struct tiles *tiles); // in the middle of a pass, too; accepts a zeroed struct

/* A pass over all tiles, which are read, changed by the caller, and written:
 *
 *     tiles_begin(tiles);
 *     while (tiles_next(tiles, &tile))     // hands back the one before
 *         ... tile.array[0][i] is element tile.part.begin + i of array 0 ...
 *     error = tiles_end(tiles, fail);
 *
 * A loop that was left early can only be followed by tiles_close. */
struct tile {
    struct slice part; // of the arrays
    float *array[TILES_ARRAYS_MOST];
};
void tiles_begin(struct tiles *tiles);
bool tiles_next(struct tiles *tiles, struct tile *tile);
int tiles_end(struct tiles *tiles, struct fail *fail);
struct tiles_moved tiles_moved(struct tiles *tiles);

/* Between passes: copies part of an array. 0 or a negative error with its sentence. */
int tiles_get(struct tiles *tiles, size_t array, struct slice part, float *values,
              struct fail *fail);
int tiles_put(struct tiles *tiles, size_t array, struct slice part, const float *values,
              struct fail *fail);

#endif
