/*
 * inventory_write: a manifest as JSON. See inventory.h.
 *
 * Its last member is the CRC-32 of all the others, written compact and with sorted keys: that text does not
 * depend on how the file is laid out.
 */
#include "common/inventory.h"
#include "common/inventory_json.h"
#include "common/shelf.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static json_t *whole(size_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *write_tensors(const struct inventory *inventory)
{
    json_t *list = json_array();
    for (size_t i = 0; i < inventory->tensor_count; i++) {
        const struct inventory_tensor *tensor = &inventory->tensors[i];
        json_t *shape = json_array();
        for (size_t d = 0; d < tensor->dimensions; d++)
            json_array_append_new(shape, whole(tensor->shape[d]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "name", tensor->name, "shape", shape));
    }
    return list;
}

static json_t *write_pieces(const struct inventory *inventory, size_t file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < inventory->piece_count; i++) {
        const struct inventory_piece *piece = &inventory->pieces[i];
        if (piece->file != file)
            continue;
        json_t *object =
            json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "kind", inventory->kinds[piece->kind],
                      "tensor", inventory->tensors[piece->tensor].name, "begin",
                      whole(piece->begin), "count", whole(piece->count), "offset_bytes",
                      whole(piece->offset_bytes), "crc32", whole(piece->crc32));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *write_files(const struct inventory *inventory)
{
    json_t *list = json_array();
    for (size_t i = 0; i < inventory->file_count; i++) {
        const struct inventory_file *file = &inventory->files[i];
        json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", file->name, "size_bytes",
                                   whole(file->size_bytes), "header_bytes",
                                   whole(file->header_bytes), "header_crc32",
                                   whole(file->header_crc32), "pieces", write_pieces(inventory, i));
        json_array_append_new(list, object);
    }
    return list;
}

/* NULL when there is no memory, here or further in: what could not be made is not set. */
static json_t *write_all(const struct inventory *inventory)
{
    json_t *root = json_object(), *settings = json_object(), *kinds = json_array();
    int error = json_object_set_new(root, "format", json_string(INVENTORY_FORMAT));
    for (const struct inventory_number *number = inventory_numbers; number->key; number++) {
        size_t value;
        memcpy(&value, (const char *)inventory + number->offset, sizeof value);
        error |= json_object_set_new(root, number->key, whole(value));
    }
    for (size_t i = 0; i < inventory->setting_count; i++)
        error |= json_object_set_new(settings, inventory->settings[i].key,
                                     json_string(inventory->settings[i].value));
    for (size_t i = 0; i < inventory->kind_count; i++)
        error |= json_array_append_new(kinds, json_string(inventory->kinds[i]));
    error |= json_object_set_new(root, "settings", settings);
    error |= json_object_set_new(root, "kinds", kinds);
    error |= json_object_set_new(root, "tensors", write_tensors(inventory));
    error |= json_object_set_new(root, "files", write_files(inventory));
    size_t crc = 0;
    error |= inventory_json_crc(root, &crc);
    error |= json_object_set_new(root, "crc32", whole(crc));
    if (!error)
        return root;
    json_decref(root);
    return NULL;
}

int inventory_json_crc(const json_t *root, size_t *crc)
{
    char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return -ENOMEM;
    *crc = crc32_z(0, (const unsigned char *)text, strlen(text));
    free(text);
    return 0;
}

static int write_text(const char *path, const char *text, struct fail *fail)
{
    errno = 0;
    FILE *file = fopen(path, "wbe");
    if (!file)
        return fail_set(fail, -errno, "cannot create %s: %s", path, strerror(errno));
    bool written = fputs(text, file) >= 0 && fputc('\n', file) >= 0 && fflush(file) == 0 &&
                   fsync(fileno(file)) == 0;
    int error = written ? 0 : errno;
    if (fclose(file) != 0 && !error)
        error = errno;
    return error ? fail_set(fail, -error, "cannot write %s: %s", path, strerror(error)) : 0;
}

int inventory_write(const struct inventory *inventory, const char *folder, struct fail *fail)
{
    char path[SHELF_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, SHELF_MANIFEST);
    json_t *root = write_all(inventory);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    int error = text ? write_text(path, text, fail)
                     : fail_set(fail, -ENOMEM, "no memory to write %s", path);
    free(text);
    json_decref(root);
    return error;
}
