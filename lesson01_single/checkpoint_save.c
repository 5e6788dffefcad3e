/*
 * checkpoint_save: what all ranks do together, so that a save is there as a whole or not at all.
 *
 *     rank 0                        other ranks
 *     makes the folder aside
 *     ------------------ agree: could it? which folder? -----------------
 *     writes its file               write theirs             flushed, with checksums
 *     ------------------ agree: could all? and what is in the files -----
 *     manifest, one rename
 *     ------------------ agree: could it? -------------------------------
 *
 * A rank that fails says so in the next exchange, and then all fail, rank 0 removes the folder aside, and
 * what was saved before is as it was.
 */
#include "lesson01_single/checkpoint_inside.h"
#include "common/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_NUMBERS = 4, PART_NUMBERS = 5 }; // what a rank tells of its file, of each part

struct saving {
    const struct checkpoint *checkpoint;
    struct part_list parts;
    struct inventory_file file;
    struct inventory inventory; // rank 0's, as long as it is made
    char folder[SHELF_PATH_BYTES];
    double *mine, *all; // (numbers), (world * numbers): what is exchanged
    bool begun;         // the folder aside is there, and ours to remove
};

static int share(const struct saving *saving, size_t count, struct fail *fail)
{
    const struct checkpoint *checkpoint = saving->checkpoint;
    if (checkpoint->gather)
        return checkpoint->gather(checkpoint->context, saving->mine, count, saving->all, fail);
    memcpy(saving->all, saving->mine, count * sizeof *saving->all);
    return 0;
}

/* One decision for all. Shares mine (count), of which the first number says whether this rank has failed. */
static int agree(struct saving *saving, int error, size_t count, struct fail *fail)
{
    const struct checkpoint *checkpoint = saving->checkpoint;
    struct fail lost = {0};
    saving->mine[0] = error != 0;
    int broken = share(saving, count, error ? &lost : fail);
    if (error || broken)
        return error ? error : broken;
    for (int rank = 0; rank < checkpoint->world; rank++)
        if (saving->all[(size_t)rank * count] != 0)
            return fail_set(fail, FAIL_ELSEWHERE,
                            "rank %d could not save update %zu to %s, and says why; what was saved "
                            "before is as it was",
                            rank, checkpoint->optimizer->updates, checkpoint->options->save);
    return 0;
}

/* --- the folder ------------------------------------------------------------------------------ */

static int take_memory(struct saving *saving)
{
    size_t numbers = PARTS_MOST * PART_NUMBERS + 1;
    saving->mine = calloc(numbers, sizeof *saving->mine);
    saving->all = calloc((size_t)saving->checkpoint->world * numbers, sizeof *saving->all);
    return saving->mine && saving->all ? 0 : -ENOMEM;
}

static int begin(struct saving *saving, struct fail *fail)
{
    const struct checkpoint *checkpoint = saving->checkpoint;
    const char *save = checkpoint->options->save;
    size_t update = checkpoint->optimizer->updates;
    int error = 0;
    if (checkpoint->rank == 0) {
        error = shelf_begin(save, update, fail);
        saving->begun = error == 0;
    }
    saving->mine[1] = (double)getpid();
    error = agree(saving, error, 2, fail);
    if (!error)
        shelf_aside(saving->folder, save, update, (long)saving->all[1]); // rank 0's
    return error;
}

/* --- the files ------------------------------------------------------------------------------- */

/* A rank that owns nothing writes nothing. */
static int write_file(struct saving *saving, struct fail *fail)
{
    const struct checkpoint *checkpoint = saving->checkpoint;
    int error = 0;
    checkpoint_cut(checkpoint, &saving->parts);
    if (saving->parts.count > 0)
        error =
            checkpoint_write_file(checkpoint, &saving->parts, saving->folder, &saving->file, fail);
    saving->mine[1] = (double)saving->parts.count;
    saving->mine[2] = (double)saving->file.header_bytes;
    saving->mine[3] = (double)saving->file.header_crc32;
    return agree(saving, error, FILE_NUMBERS, fail);
}

/* A file as rank 0 sees it: elsewhere than where it was written, it must be the same folder. */
static int add_file(struct saving *saving, size_t rank, struct fail *fail)
{
    const double *said = saving->all + rank * FILE_NUMBERS;
    struct inventory_file *file = &saving->inventory.files[saving->inventory.file_count++];
    char path[SHELF_PATH_BYTES + TENSORFILE_NAME_BYTES];
    struct stat status;
    snprintf(file->name, sizeof file->name, "rank-%zu.safetensors", rank);
    snprintf(path, sizeof path, "%s/%s", saving->folder, file->name);
    if (stat(path, &status) != 0)
        return fail_set(fail, -errno,
                        "%s, which rank %zu has written, is not there for rank 0: %s; --save must "
                        "be one folder for all ranks",
                        path, rank, strerror(errno));
    file->size_bytes = (size_t)status.st_size;
    file->header_bytes = (size_t)said[2];
    file->header_crc32 = (size_t)said[3];
    return 0;
}

/* --- the manifest ---------------------------------------------------------------------------- */

static void tell_parts(struct saving *saving)
{
    const struct model *model = saving->checkpoint->optimizer->model;
    for (size_t i = 0; i < saving->parts.count; i++) {
        const struct part *part = &saving->parts.items[i];
        double *numbers = saving->mine + 1 + i * PART_NUMBERS;
        numbers[0] = (double)part->piece->kind;
        numbers[1] = (double)part->tensor;
        numbers[2] = (double)(part->slice.begin - model->tensors[part->tensor].slice.begin);
        numbers[3] = (double)part->slice.count;
        numbers[4] = (double)part->crc32;
    }
}

/* Parts lie in the file one behind the other. */
static void add_pieces(struct inventory *inventory, size_t file, size_t count,
                       const double *numbers)
{
    size_t offset = inventory->files[file].header_bytes;
    for (size_t i = 0; i < count; i++, numbers += PART_NUMBERS) {
        struct inventory_piece *piece = &inventory->pieces[inventory->piece_count++];
        *piece = (struct inventory_piece){
            .file = file,
            .kind = (size_t)numbers[0],
            .tensor = (size_t)numbers[1],
            .begin = (size_t)numbers[2],
            .count = (size_t)numbers[3],
            .offset_bytes = offset,
            .crc32 = (size_t)numbers[4],
        };
        offset += piece->count * sizeof(float);
    }
}

/* Of the files that were written, before the next exchange overwrites what was told of them. */
static int begin_inventory(struct saving *saving, size_t counts[], struct fail *fail)
{
    struct inventory *inventory = &saving->inventory;
    size_t world = (size_t)saving->checkpoint->world, pieces = 1;
    int error = 0;
    for (size_t rank = 0; rank < world; rank++)
        pieces += counts[rank];
    inventory->tensors = calloc(MODEL_TENSORS_MOST, sizeof *inventory->tensors);
    inventory->files = calloc(world, sizeof *inventory->files);
    inventory->pieces = calloc(pieces, sizeof *inventory->pieces);
    if (!inventory->tensors || !inventory->files || !inventory->pieces)
        return fail_set(fail, -ENOMEM, "no memory for the manifest of a checkpoint");
    checkpoint_describe(saving->checkpoint, inventory);
    for (size_t rank = 0; rank < world && !error; rank++)
        if (counts[rank] > 0)
            error = add_file(saving, rank, fail);
    return error;
}

/* What each rank has told of its parts, to one inventory that must be complete; then the rename. */
static int publish(struct saving *saving, const size_t counts[], size_t stride, struct fail *fail)
{
    const struct checkpoint *checkpoint = saving->checkpoint;
    const struct options *options = checkpoint->options;
    size_t file = 0;
    for (size_t rank = 0; rank < (size_t)checkpoint->world; rank++)
        if (counts[rank] > 0)
            add_pieces(&saving->inventory, file++, counts[rank], saving->all + rank * stride + 1);
    int error = inventory_check(&saving->inventory, fail);
    if (!error)
        error = inventory_write(&saving->inventory, saving->folder, fail);
    if (!error)
        error = shelf_publish(options->save, checkpoint->optimizer->updates, options->keep, fail);
    saving->begun = error != 0; // renamed, it is not to be removed any more
    return error;
}

static int finish(struct saving *saving, struct fail *fail)
{
    bool first = saving->checkpoint->rank == 0;
    size_t world = (size_t)saving->checkpoint->world, most = 0;
    size_t counts[ENVIRONMENT_WORLD_MOST];
    for (size_t rank = 0; rank < world; rank++) {
        counts[rank] = (size_t)saving->all[rank * FILE_NUMBERS + 1];
        most = counts[rank] > most ? counts[rank] : most;
    }
    size_t stride = 1 + most * PART_NUMBERS;
    int error = first ? begin_inventory(saving, counts, fail) : 0;
    tell_parts(saving);
    error = agree(saving, error, stride, fail);
    if (error)
        return error;
    if (first)
        error = publish(saving, counts, stride, fail);
    return agree(saving, error, 1, fail);
}

int checkpoint_save(const struct checkpoint *checkpoint, struct fail *fail)
{
    struct saving *saving = calloc(1, sizeof *saving);
    if (!saving)
        return fail_set(fail, -ENOMEM, "no memory to save a checkpoint");
    saving->checkpoint = checkpoint;
    int error = take_memory(saving);
    if (error)
        fail_set(fail, error, "no memory to save a checkpoint");
    if (!error)
        error = begin(saving, fail);
    if (!error)
        error = write_file(saving, fail);
    if (!error)
        error = finish(saving, fail);
    if (saving->begun)
        shelf_abandon(checkpoint->options->save, checkpoint->optimizer->updates);
    inventory_release(&saving->inventory);
    free(saving->mine);
    free(saving->all);
    free(saving);
    return error;
}
