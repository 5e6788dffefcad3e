/*
 * inventory: what a saved update consists of, and where each part of it lies: its manifest.json.
 *
 *     update-00000100/manifest.json        tensors, settings, files; of each file its pieces:
 *                     rank-0.safetensors   | header | param.fc1.weight@0 | momentum.fc1.weight@0 |
 *                     rank-1.safetensors   | header | param.fc1.weight@32 | ...
 *
 * A piece is a run of one tensor's elements, of one kind: "param", or a state of the optimizer. The pieces
 * of a kind tile each tensor exactly, but for states of frozen tensors, which are not there at all. Who wrote
 * how much is all the same to a reader: that is how a save of 4 ranks is loaded by 3.
 *
 * Every byte is under a CRC-32: the header of a file, each piece, and the manifest itself.
 */
#ifndef COMMON_INVENTORY_H
#define COMMON_INVENTORY_H

#include "common/fail.h"
#include "common/tensorfile.h"

#include <stddef.h>
#include <stdint.h>

enum {
    INVENTORY_KINDS_MOST = 4,
    INVENTORY_KIND_BYTES = 16,
    INVENTORY_SETTINGS_MOST = 16,
    INVENTORY_TEXT_BYTES = 48
};

struct inventory_tensor {
    char name[TENSORFILE_NAME_BYTES];
    size_t dimensions, shape[TENSORFILE_DIMENSIONS_MOST], count;
};

/* What must be the same for the run that goes on. */
struct inventory_setting {
    char key[INVENTORY_TEXT_BYTES], value[INVENTORY_TEXT_BYTES];
};

struct inventory_file {
    char name[TENSORFILE_NAME_BYTES];  // in the folder
    size_t header_bytes, header_crc32; // of its first bytes, the 8 of the length included
    size_t size_bytes;
};

struct inventory_piece {
    size_t file, kind, tensor; // indices
    size_t begin, count;       // elements of the tensor
    size_t offset_bytes;       // in the file
    size_t crc32;
};

struct inventory {
    size_t lesson, stage, world; // that wrote it
    size_t updates, skipped, epoch, position;
    size_t loss_scale, good_updates; // 0, 0: no dynamic scale
    char kinds[INVENTORY_KINDS_MOST][INVENTORY_KIND_BYTES];
    size_t kind_count;
    struct inventory_setting settings[INVENTORY_SETTINGS_MOST];
    size_t setting_count;
    struct inventory_tensor *tensors;
    size_t tensor_count;
    struct inventory_file *files;
    size_t file_count;
    struct inventory_piece *pieces; // sorted by kind, tensor, begin
    size_t piece_count;
};

/* Do the pieces tile every tensor, and lie within their files? Sorts them. 0, or -EINVAL. */
int inventory_check(struct inventory *inventory, struct fail *fail);

/* Writes it, checked, into the folder, and flushes it. 0 or an error that names the file. */
int inventory_write(const struct inventory *inventory, const char *folder, struct fail *fail);

/* Reads and checks all of it. 0, or an error that names the file. Release whatever the outcome. */
int inventory_read(struct inventory *inventory, const char *folder, struct fail *fail);
void inventory_release(struct inventory *inventory); // accepts a zeroed struct

/* The value of a setting, or NULL. */
const char *inventory_setting(const struct inventory *inventory, const char *key);

/* SIZE_MAX: there is none. */
size_t inventory_kind(const struct inventory *inventory, const char *kind);
size_t inventory_tensor(const struct inventory *inventory, const char *name);

/* The first piece of a kind's tensor; *count: how many follow each other. */
const struct inventory_piece *inventory_pieces(const struct inventory *inventory, size_t kind,
                                               size_t tensor, size_t *count);

/* The numbers that stand at the manifest's top, for reading and writing alike. */
struct inventory_number {
    const char *key;
    size_t offset; // of a size_t in struct inventory
};
extern const struct inventory_number inventory_numbers[];
extern const char INVENTORY_FORMAT[];

#endif
