/*
 * checkpoint_file: one rank's file of a checkpoint, which any safetensors reader opens.
 *
 *     param.fc1.bias             a whole tensor has its shape and name
 *     param.fc1.weight@1024      a part is 1-D; its first element is the tensor's element 1024
 */
#include "lesson01_single/checkpoint_inside.h"
#include "common/slicefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { TILE = 1 << 14 };

void checkpoint_cut(const struct checkpoint *checkpoint, struct part_list *parts)
{
    const struct model *model = checkpoint->optimizer->model;
    parts->count = 0;
    for (size_t i = 0; i < checkpoint->pieces.count; i++) {
        const struct piece *piece = &checkpoint->pieces.items[i];
        for (size_t j = 0; j < model->tensor_count; j++) {
            struct slice part = slice_overlap(piece->slice, model->tensors[j].slice);
            if (part.count > 0)
                parts->items[parts->count++] =
                    (struct part){.piece = piece, .tensor = j, .slice = part};
        }
    }
}

static int declare(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                   const struct part *part, struct fail *fail)
{
    const struct tensor *tensor = &checkpoint->optimizer->model->tensors[part->tensor];
    const char *kind = checkpoint_kind(checkpoint, part->piece->kind);
    char name[TENSORFILE_NAME_BYTES];
    if (part->slice.count == tensor->slice.count) {
        snprintf(name, sizeof name, "%s.%s", kind, tensor->name);
        return tensorfile_declare(writer, name, tensor->shape, tensor->dimensions, fail);
    }
    snprintf(name, sizeof name, "%s.%s@%zu", kind, tensor->name,
             part->slice.begin - tensor->slice.begin);
    return tensorfile_declare(writer, name, &part->slice.count, 1, fail);
}

/* Run by run, so that values behind a function need no more memory than a tile. */
static int write_part(struct tensorfile_writer *writer, struct part *part, float *tile,
                      struct fail *fail)
{
    uLong sum = 0;
    int error = 0;
    for (size_t at = 0; at < part->slice.count && !error; at += TILE) {
        size_t left = part->slice.count - at;
        struct slice run = {part->slice.begin + at, left < TILE ? left : TILE};
        const float *values = pieces_fetch(part->piece, run, tile, fail);
        if (!values)
            return fail->code;
        sum = crc32_z(sum, (const unsigned char *)values, run.count * sizeof *values);
        error = tensorfile_write_run(writer, values, run.count, fail);
    }
    part->crc32 = sum;
    return error;
}

static int describe(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                    const struct part_list *parts, struct fail *fail)
{
    char text[24];
    snprintf(text, sizeof text, "%d", checkpoint->rank);
    int error = tensorfile_meta(writer, "rank", text, fail);
    snprintf(text, sizeof text, "%zu", checkpoint->optimizer->updates);
    if (!error)
        error = tensorfile_meta(writer, "updates", text, fail);
    for (size_t i = 0; i < parts->count && !error; i++)
        error = declare(writer, checkpoint, &parts->items[i], fail);
    return error;
}

static int write_all(struct tensorfile_writer *writer, struct part_list *parts, const char *path,
                     struct fail *fail)
{
    float *tile = malloc(TILE * sizeof *tile);
    int error =
        tile ? tensorfile_begin(writer, path, fail) : fail_set(fail, -ENOMEM, "no memory to save");
    for (size_t i = 0; i < parts->count && !error; i++)
        error = write_part(writer, &parts->items[i], tile, fail);
    free(tile);
    return error ? error : tensorfile_commit(writer, fail);
}

int checkpoint_write_file(const struct checkpoint *checkpoint, struct part_list *parts,
                          const char *folder, struct inventory_file *file, struct fail *fail)
{
    char path[SHELF_PATH_BYTES];
    snprintf(file->name, sizeof file->name, "rank-%d.safetensors", checkpoint->rank);
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    struct tensorfile_writer *writer = tensorfile_new();
    int error = writer ? describe(writer, checkpoint, parts, fail)
                       : fail_set(fail, -ENOMEM, "no memory to save a checkpoint");
    if (!error)
        error = write_all(writer, parts, path, fail);
    tensorfile_discard(writer);
    return error ? error : slicefile_describe(file, path, fail);
}
