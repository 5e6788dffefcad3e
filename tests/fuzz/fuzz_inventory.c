/*
 * fuzz_inventory: any bytes as the manifest of a checkpoint.
 *
 * An object is given its checksum first: what a mistake does behind it would never be seen otherwise. Promises:
 * the pieces of an accepted manifest tile their tensors and lie in their files; and our writer, told the same,
 * writes a manifest that says the same.
 */
#include "common/inventory.h"
#include "common/inventory_json.h"
#include "common/shelf.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The text to be judged; free is due. NULL: it is no object, judge the bytes. */
static char *with_checksum(const uint8_t *data, size_t size)
{
    size_t crc = 0;
    char *text = NULL;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(root)) {
        json_object_del(root, "crc32");
        inventory_json_crc(root, &crc);
        json_object_set_new(root, "crc32", json_integer((json_int_t)crc));
        text = json_dumps(root, 0);
    }
    json_decref(root);
    return text;
}

static const char *piece_broken(const struct inventory *inventory,
                                const struct inventory_piece *piece)
{
    if (piece->file >= inventory->file_count || piece->kind >= inventory->kind_count ||
        piece->tensor >= inventory->tensor_count)
        return "a piece is of a file, a kind and a tensor that are listed";
    const struct inventory_file *file = &inventory->files[piece->file];
    if (strchr(file->name, '/'))
        return "a file is in its folder";
    if (piece->count == 0 || piece->count > inventory->tensors[piece->tensor].count - piece->begin)
        return "a piece is a part of its tensor";
    if (piece->offset_bytes < file->header_bytes ||
        piece->count > (file->size_bytes - piece->offset_bytes) / sizeof(float))
        return "a piece lies in its file, behind the header";
    return NULL;
}

static const char *tiles_broken(const struct inventory *inventory, size_t kind, size_t tensor)
{
    size_t count, end = 0;
    const struct inventory_piece *piece = inventory_pieces(inventory, kind, tensor, &count);
    for (size_t i = 0; i < count; i++) {
        if (piece[i].begin != end)
            return "pieces of a tensor follow each other";
        end += piece[i].count;
    }
    return count == 0 || end == inventory->tensors[tensor].count ? NULL : "they fill it";
}

static const char *content_broken(const struct inventory *inventory)
{
    const char *broken = NULL;
    for (size_t i = 0; i < inventory->piece_count && !broken; i++)
        broken = piece_broken(inventory, &inventory->pieces[i]);
    for (size_t kind = 0; kind < inventory->kind_count; kind++)
        for (size_t i = 0; i < inventory->tensor_count && !broken; i++)
            broken = tiles_broken(inventory, kind, i);
    return broken;
}

static bool are_equal(const struct inventory *a, const struct inventory *b)
{
    return a->updates == b->updates && a->world == b->world && a->position == b->position &&
           a->setting_count == b->setting_count && a->kind_count == b->kind_count &&
           memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0 &&
           memcmp(a->settings, b->settings, sizeof a->settings) == 0 &&
           a->tensor_count == b->tensor_count && a->file_count == b->file_count &&
           a->piece_count == b->piece_count &&
           memcmp(a->pieces, b->pieces, a->piece_count * sizeof *a->pieces) == 0;
}

/* Over the first one. */
static const char *rewritten_broken(const struct scratch *scratch,
                                    const struct inventory *inventory)
{
    struct inventory again;
    struct fail fail = {0};
    if (inventory_write(inventory, scratch->path, &fail) != 0)
        return "what can be read can be written";
    int code = inventory_read(&again, scratch->path, &fail);
    const char *broken = code != 0                       ? "what we write can be read"
                         : !are_equal(inventory, &again) ? "what is written says what was read"
                                                         : NULL;
    inventory_release(&again);
    return broken;
}

struct verdict fuzz_inventory(const uint8_t *data, size_t size)
{
    struct scratch scratch;
    char path[SCRATCH_PATH_BYTES], *text = with_checksum(data, size);
    struct inventory inventory;
    struct fail fail = {0};
    scratch_open(&scratch);
    scratch_write(&scratch, SHELF_MANIFEST, text ? text : (const char *)data,
                  text ? strlen(text) : size, path);
    free(text);
    int code = inventory_read(&inventory, scratch.path, &fail);
    struct verdict verdict = {.accepted = code == 0};
    if (code != 0)
        verdict = target_refused(code, &fail, path);
    else
        verdict.broken = content_broken(&inventory);
    if (code == 0 && !verdict.broken)
        verdict.broken = rewritten_broken(&scratch, &inventory);
    inventory_release(&inventory);
    if (scratch_close(&scratch) != 0 && !verdict.broken)
        verdict.broken = "neither reader nor writer leaves a file behind";
    return verdict;
}
