/*
 * tilefile: arrays in a file, read and written in tiles, and never taken for what they are not.
 *
 * `arrays` arrays of `count` floats lie one after another, each cut into as few tiles as make none
 * larger than was asked, all but equal (slice_of):
 *
 *     file     | m m m m . m m m . m m m | v v v v . v v v . v v v |    two arrays of 10, tiles of 4
 *                tile 0    1       2       tile 0    1       2
 *
 * A hash of every tile is kept in memory. So a file that somebody cut off or changed, a write that was
 * lost and one that went to a wrong place are errors when the tile is read, and never numbers.
 */
#ifndef LESSON04_TILEFILE_H
#define LESSON04_TILEFILE_H

#include "common/memory.h"
#include "common/slice.h"
#include "lesson04_zero/statefile.h"

#include <stddef.h>
#include <stdint.h>

struct tilefile {
    struct statefile file;
    struct memory *memory;
    size_t count, arrays; // floats of each array
    size_t tile;          // floats of the largest tile
    size_t tile_count;    // of each array
    uint64_t *hashes;     // (arrays, tile_count)
};

/* What is to be made. */
struct tilefile_plan {
    const char *directory; // for as long as the file is open
    int rank;
    size_t count, arrays; // floats of each array
    size_t tile;          // floats of a tile, at most; not 0
};

/* Its measures alone, and the bytes of hashes it will take. */
struct tilefile tilefile_measure(const struct tilefile_plan *plan);
size_t tilefile_hash_bytes(const struct tilefile *file);

/* Makes the file, which holds nothing yet, and files the hashes with the optimizer. 0, or a negative
 * error with its sentence; tilefile_close is due. */
int tilefile_open(struct tilefile *file, const struct tilefile_plan *plan, struct memory *memory,
                  struct fail *fail);
void tilefile_close(struct tilefile *file); // accepts a zeroed one

/* The elements of a tile. */
struct slice tilefile_part(const struct tilefile *file, size_t index);

/* Writes zeros (tile) everywhere. A disk that is too small says so here, at the start. 0, or the error of
 * tilefile_write. */
int tilefile_clear(const struct tilefile *file, const float *zeros, struct fail *fail);

/* One array's part of a tile, all of it. 0, or a negative error with its sentence: -EIO where it is
 * not what was written last. Two threads may call at once, for different tiles. */
int tilefile_read(const struct tilefile *file, size_t index, size_t array, float *values,
                  struct fail *fail);
int tilefile_write(const struct tilefile *file, size_t index, size_t array, const float *values,
                   struct fail *fail);

#endif
