/* checkpoint_inside: what saving and loading a checkpoint share. For checkpoint*.c alone. */
#ifndef LESSON01_CHECKPOINT_INSIDE_H
#define LESSON01_CHECKPOINT_INSIDE_H

#include "lesson01_single/checkpoint.h"

/* What must be the same for the run that goes on, and the flag that says it. */
enum { SETTINGS = 9 };
struct setting {
    const char *key, *flag;
    char value[INVENTORY_TEXT_BYTES];
};

void checkpoint_settings(const struct checkpoint *checkpoint, struct setting settings[SETTINGS]);

/* "param", "momentum", ... of a piece's kind. */
const char *checkpoint_kind(const struct checkpoint *checkpoint, size_t kind);

/* All that an inventory says of this run, but for its files and pieces. Its tensors have room for the model's. */
void checkpoint_describe(const struct checkpoint *checkpoint, struct inventory *inventory);

/* What is counted, and a dynamic loss scale, from there. 0 or -EINVAL. */
int checkpoint_counts_read(const struct checkpoint *checkpoint, const struct inventory *inventory,
                           struct fail *fail);

/* A piece cut at the borders of tensors: what a file holds under one name. */
struct part {
    const struct piece *piece;
    size_t tensor;
    struct slice slice; // of the slab
    size_t crc32;       // once it is written
};

/* Pieces of one kind are disjoint: each border of a tensor cuts one of them at most. */
enum { PARTS_MOST = PIECES_MOST + (1 + OPTIMIZER_STATES_MOST) * MODEL_TENSORS_MOST };

struct part_list {
    struct part items[PARTS_MOST];
    size_t count;
};

void checkpoint_cut(const struct checkpoint *checkpoint, struct part_list *parts);

/* rank-R.safetensors in the folder, flushed. Sets the parts' checksums and the file's. 0 or an error. */
int checkpoint_write_file(const struct checkpoint *checkpoint, struct part_list *parts,
                          const char *folder, struct inventory_file *file, struct fail *fail);

#endif
