/*
 * slicefile: one file of a saved update, read piece by piece, each held against its checksum.
 *
 * A piece is read whole even where only a part of it is wanted, or its checksum would say nothing; what
 * nobody here wants is not read. Values are handed on tile by tile, so that no tensor need be in memory.
 */
#ifndef COMMON_SLICEFILE_H
#define COMMON_SLICEFILE_H

#include "common/fail.h"
#include "common/inventory.h"

#include <stddef.h>

struct slicefile {
    int handle;
    const char *path;                  // the caller's
    const struct inventory_file *file; // the inventory's
    float *tile;
};

/* Opens it; its size and its header must be those of the manifest. 0, or an error that names the file.
 * Close after success. */
int slicefile_open(struct slicefile *slicefile, const char *path, const struct inventory_file *file,
                   struct fail *fail);
void slicefile_close(struct slicefile *slicefile);

/* Elements begin to begin + count of the piece's tensor, in order. 0 or an error. */
struct slicefile_sink {
    int (*take)(void *context, size_t begin, const float *values, size_t count, struct fail *fail);
    void *context;
};

/* 0, or an error that names the file and the piece: what was handed on by then is worth nothing. */
int slicefile_read(const struct slicefile *slicefile, const struct inventory *inventory,
                   const struct inventory_piece *piece, const struct slicefile_sink *sink,
                   struct fail *fail);

/* For whoever has just written a file: its size, and size and checksum of its header. 0 or an error. */
int slicefile_describe(struct inventory_file *file, const char *path, struct fail *fail);

#endif
