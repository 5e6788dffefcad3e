/*
 * checkpoint_load: go on where a run has stopped. See checkpoint.h.
 *
 *     saved     | rank 0's piece      | rank 1's piece      | rank 2's ...
 *     wanted             [-------- this rank's --------]              two files are read, no others
 *
 * Everything the manifest says is held against this run before a value is read. A saved piece is read once,
 * whatever parts of it are wanted.
 */
#include "lesson01_single/checkpoint_inside.h"
#include "common/slicefile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- is it this run's? ----------------------------------------------------------------------- */

static int check_settings(const struct checkpoint *checkpoint, const struct inventory *inventory,
                          struct fail *fail)
{
    struct setting settings[SETTINGS];
    checkpoint_settings(checkpoint, settings);
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *saved = inventory_setting(inventory, settings[i].key);
        if (!saved || strcmp(saved, settings[i].value) != 0)
            return fail_set(
                fail, -EINVAL, "saved with %s = %s, but this run has %s: give the same %s",
                settings[i].key, saved ? saved : "(none)", settings[i].value, settings[i].flag);
    }
    return 0;
}

static int check_tensor(const struct inventory_tensor *saved, const struct model *model,
                        struct fail *fail)
{
    const struct tensor *tensor = NULL;
    for (size_t i = 0; i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, saved->name) == 0)
            tensor = &model->tensors[i];
    if (!tensor)
        return fail_set(fail, -EINVAL,
                        "it holds %s, which this model does not have: give the --hidden, --no-bias "
                        "and --tie it was made with",
                        saved->name);
    if (saved->dimensions == tensor->dimensions &&
        memcmp(saved->shape, tensor->shape, tensor->dimensions * sizeof *tensor->shape) == 0)
        return 0;
    return fail_set(fail, -EINVAL,
                    "%s has %zu values of another shape there; this model needs (%zu%s%.0zu): give "
                    "the --hidden it was made with",
                    saved->name, saved->count, tensor->shape[0],
                    tensor->dimensions == 2 ? ", " : "", tensor->shape[1]);
}

/* Indices of a piece's kind and of a tensor in the inventory. */
static int find_wanted(const struct checkpoint *checkpoint, const struct inventory *inventory,
                       const struct piece *piece, const struct tensor *tensor, struct fail *fail)
{
    const char *kind = checkpoint_kind(checkpoint, piece->kind);
    size_t count = 0, k = inventory_kind(inventory, kind);
    size_t t = inventory_tensor(inventory, tensor->name);
    if (k != SIZE_MAX && t != SIZE_MAX)
        inventory_pieces(inventory, k, t, &count);
    return count > 0
               ? 0
               : fail_set(fail, -EINVAL, "it has no %s of %s (another model, or frozen in it?)",
                          kind, tensor->name);
}

static int check_wanted(const struct checkpoint *checkpoint, const struct inventory *inventory,
                        struct fail *fail)
{
    const struct model *model = checkpoint->optimizer->model;
    int error = 0;
    for (size_t i = 0; i < checkpoint->pieces.count; i++)
        for (size_t j = 0; j < model->tensor_count && !error; j++) {
            const struct piece *piece = &checkpoint->pieces.items[i];
            const struct tensor *tensor = &model->tensors[j];
            if (slice_overlap(piece->slice, tensor->slice).count > 0)
                error = find_wanted(checkpoint, inventory, piece, tensor, fail);
        }
    return error;
}

static int check(const struct checkpoint *checkpoint, const struct inventory *inventory,
                 struct fail *fail)
{
    int error = check_settings(checkpoint, inventory, fail);
    for (size_t i = 0; i < inventory->tensor_count && !error; i++)
        error = check_tensor(&inventory->tensors[i], checkpoint->optimizer->model, fail);
    return error ? error : check_wanted(checkpoint, inventory, fail);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Where a saved piece goes. */
struct target {
    const struct checkpoint *checkpoint;
    const char *kind;
    const struct tensor *tensor;
};

static bool wants(const struct target *target, const struct piece *piece)
{
    return strcmp(checkpoint_kind(target->checkpoint, piece->kind), target->kind) == 0;
}

/* Of a run of the tensor's elements, to each of this rank's pieces what it wants. */
static int take(void *context, size_t begin, const float *values, size_t count, struct fail *fail)
{
    const struct target *target = context;
    struct slice run = {target->tensor->slice.begin + begin, count};
    int error = 0;
    for (size_t i = 0; i < target->checkpoint->pieces.count && !error; i++) {
        const struct piece *piece = &target->checkpoint->pieces.items[i];
        struct slice part = slice_overlap(piece->slice, run);
        if (part.count > 0 && wants(target, piece))
            error = pieces_put(piece, part, values + (part.begin - run.begin), fail);
    }
    return error;
}

static bool is_wanted(const struct target *target, const struct inventory_piece *saved)
{
    struct slice slice = {target->tensor->slice.begin + saved->begin, saved->count};
    for (size_t i = 0; i < target->checkpoint->pieces.count; i++) {
        const struct piece *piece = &target->checkpoint->pieces.items[i];
        if (slice_overlap(piece->slice, slice).count > 0 && wants(target, piece))
            return true;
    }
    return false;
}

/* Every saved tensor is the model's, as was checked. */
static struct target target_of(const struct checkpoint *checkpoint,
                               const struct inventory *inventory,
                               const struct inventory_piece *saved)
{
    const struct model *model = checkpoint->optimizer->model;
    const char *name = inventory->tensors[saved->tensor].name;
    struct target target = {checkpoint, inventory->kinds[saved->kind], &model->tensors[0]};
    for (size_t i = 0; i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            target.tensor = &model->tensors[i];
    return target;
}

/* A file is opened when the first of its pieces is wanted. */
static int read_file(const struct checkpoint *checkpoint, const struct inventory *inventory,
                     size_t file, const char *folder, struct fail *fail)
{
    char path[SHELF_PATH_BYTES + TENSORFILE_NAME_BYTES];
    struct slicefile slicefile;
    bool open = false;
    int error = 0;
    snprintf(path, sizeof path, "%s/%s", folder, inventory->files[file].name);
    for (size_t i = 0; i < inventory->piece_count && !error; i++) {
        const struct inventory_piece *saved = &inventory->pieces[i];
        if (saved->file != file)
            continue;
        struct target target = target_of(checkpoint, inventory, saved);
        struct slicefile_sink sink = {take, &target};
        if (!is_wanted(&target, saved))
            continue;
        if (!open)
            error = slicefile_open(&slicefile, path, &inventory->files[file], fail);
        open = open || !error;
        if (!error)
            error = slicefile_read(&slicefile, inventory, saved, &sink, fail);
    }
    if (open)
        slicefile_close(&slicefile);
    return error;
}

static int read_files(const struct checkpoint *checkpoint, const struct inventory *inventory,
                      const char *folder, struct fail *fail)
{
    int error = 0;
    for (size_t i = 0; i < inventory->file_count && !error; i++)
        error = read_file(checkpoint, inventory, i, folder, fail);
    return error;
}

int checkpoint_load(const struct checkpoint *checkpoint, const char *directory,
                    struct checkpoint_source *source, struct fail *fail)
{
    struct inventory inventory = {0};
    struct fail inner = {0};
    int error = shelf_latest(source->path, directory, fail);
    if (error == -ENOENT)
        return fail_set(fail, error, "there is no checkpoint in %s", directory);
    if (error)
        return error;
    error = inventory_read(&inventory, source->path, fail);
    if (!error)
        error = check(checkpoint, &inventory, &inner);
    if (!error)
        error = checkpoint_counts_read(checkpoint, &inventory, &inner);
    if (inner.code)
        fail_set(fail, error, "%s: %s", source->path, inner.text);
    if (!error)
        error = read_files(checkpoint, &inventory, source->path, fail);
    source->lesson = inventory.lesson;
    source->stage = inventory.stage;
    source->world = inventory.world;
    inventory_release(&inventory);
    return error;
}
