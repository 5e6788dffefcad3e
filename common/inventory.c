/* inventory: what a saved update consists of. See the header. */
#include "common/inventory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct inventory, field)

const char INVENTORY_FORMAT[] = "staircase-checkpoint-2";

const struct inventory_number inventory_numbers[] = {
    {"lesson", AT(lesson)},
    {"stage", AT(stage)},
    {"world", AT(world)},
    {"updates", AT(updates)},
    {"skipped", AT(skipped)},
    {"epoch", AT(epoch)},
    {"position", AT(position)},
    {"loss_scale", AT(loss_scale)},
    {"good_updates", AT(good_updates)},
    {NULL, 0},
};

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int in_order(const void *left, const void *right)
{
    const struct inventory_piece *a = left, *b = right;
    int order = compare_sizes(a->kind, b->kind);
    if (order == 0)
        order = compare_sizes(a->tensor, b->tensor);
    return order ? order : compare_sizes(a->begin, b->begin);
}

/* Empty pieces are not written. */
static int check_place(const struct inventory *inventory, const struct inventory_piece *piece,
                       struct fail *fail)
{
    const struct inventory_file *file = &inventory->files[piece->file];
    const char *name = inventory->tensors[piece->tensor].name;
    size_t bytes, end;
    if (piece->count == 0 || piece->begin > inventory->tensors[piece->tensor].count ||
        piece->count > inventory->tensors[piece->tensor].count - piece->begin)
        return fail_set(fail, -EINVAL, "elements %zu to %zu of %s do not exist", piece->begin,
                        piece->begin + piece->count, name);
    if (__builtin_mul_overflow(piece->count, sizeof(float), &bytes) ||
        __builtin_add_overflow(piece->offset_bytes, bytes, &end) || end > file->size_bytes ||
        piece->offset_bytes < file->header_bytes)
        return fail_set(fail, -EINVAL, "a piece of %s lies outside of %s", name, file->name);
    return 0;
}

static int check_tiles(const struct inventory *inventory, size_t kind, size_t tensor,
                       struct fail *fail)
{
    size_t count, end = 0;
    const struct inventory_piece *piece = inventory_pieces(inventory, kind, tensor, &count);
    const struct inventory_tensor *whole = &inventory->tensors[tensor];
    for (size_t i = 0; i < count; i++) {
        if (piece[i].begin != end)
            return fail_set(fail, -EINVAL, "%s.%s: %s before element %zu", inventory->kinds[kind],
                            whole->name, piece[i].begin > end ? "a hole" : "an overlap",
                            piece[i].begin);
        end += piece[i].count;
    }
    bool absent = count == 0 && kind != inventory_kind(inventory, "param");
    return end == whole->count || absent
               ? 0
               : fail_set(fail, -EINVAL, "%s.%s: only %zu of %zu elements are there",
                          inventory->kinds[kind], whole->name, end, whole->count);
}

int inventory_check(struct inventory *inventory, struct fail *fail)
{
    int error = 0;
    if (inventory_kind(inventory, "param") == SIZE_MAX)
        return fail_set(fail, -EINVAL, "there are no parameters in it");
    if (inventory->piece_count > 0)
        qsort(inventory->pieces, inventory->piece_count, sizeof *inventory->pieces, in_order);
    for (size_t i = 0; i < inventory->piece_count && !error; i++)
        error = check_place(inventory, &inventory->pieces[i], fail);
    for (size_t kind = 0; kind < inventory->kind_count; kind++)
        for (size_t i = 0; i < inventory->tensor_count && !error; i++)
            error = check_tiles(inventory, kind, i, fail);
    return error;
}

void inventory_release(struct inventory *inventory)
{
    free(inventory->tensors);
    free(inventory->files);
    free(inventory->pieces);
    *inventory = (struct inventory){0};
}

const char *inventory_setting(const struct inventory *inventory, const char *key)
{
    for (size_t i = 0; i < inventory->setting_count; i++)
        if (strcmp(inventory->settings[i].key, key) == 0)
            return inventory->settings[i].value;
    return NULL;
}

size_t inventory_kind(const struct inventory *inventory, const char *kind)
{
    for (size_t i = 0; i < inventory->kind_count; i++)
        if (strcmp(inventory->kinds[i], kind) == 0)
            return i;
    return SIZE_MAX;
}

size_t inventory_tensor(const struct inventory *inventory, const char *name)
{
    for (size_t i = 0; i < inventory->tensor_count; i++)
        if (strcmp(inventory->tensors[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

const struct inventory_piece *inventory_pieces(const struct inventory *inventory, size_t kind,
                                               size_t tensor, size_t *count)
{
    size_t first = 0, end;
    const struct inventory_piece *pieces = inventory->pieces;
    while (first < inventory->piece_count &&
           (pieces[first].kind != kind || pieces[first].tensor != tensor))
        first++;
    for (end = first;
         end < inventory->piece_count && pieces[end].kind == kind && pieces[end].tensor == tensor;)
        end++;
    *count = end - first;
    return pieces + first;
}
