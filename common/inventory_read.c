/*
 * inventory_read: a manifest back from JSON. See inventory.h.
 *
 * It comes from anywhere. Its checksum tells damage, not malice: whatever passes it is checked as if it were
 * somebody else's, before an index or a length of it is used.
 */
#include "common/inventory.h"
#include "common/inventory_json.h"
#include "common/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A member that is a whole number. */
static int take_size(const json_t *object, const char *key, size_t *value, struct fail *fail)
{
    const json_t *member = json_object_get(object, key);
    if (!json_is_integer(member) || json_integer_value(member) < 0)
        return fail_set(fail, -EINVAL, "'%s' is no whole number", key);
    *value = (size_t)json_integer_value(member);
    return 0;
}

static int take_text(const json_t *member, const char *key, char *text, size_t room,
                     struct fail *fail)
{
    const char *found = json_string_value(member);
    if (!found || strlen(found) >= room || *found == '\0')
        return fail_set(fail, -EINVAL, "'%s' is no text of 1 to %zu bytes", key, room - 1);
    memcpy(text, found, strlen(found) + 1);
    return 0;
}

/* Room for what a list holds; never of size 0. */
static int take_list(const json_t *root, const char *key, size_t size, void **room,
                     struct fail *fail)
{
    const json_t *list = json_object_get(root, key);
    if (!json_is_array(list))
        return fail_set(fail, -EINVAL, "'%s' is no list", key);
    *room = calloc(json_array_size(list) + 1, size);
    return *room ? 0 : fail_set(fail, -ENOMEM, "no memory for %zu %s", json_array_size(list), key);
}

static int take_numbers(struct inventory *inventory, const json_t *root, struct fail *fail)
{
    int error = 0;
    for (const struct inventory_number *number = inventory_numbers; number->key && !error; number++)
        error = take_size(root, number->key, (size_t *)((char *)inventory + number->offset), fail);
    return error;
}

static int take_settings(struct inventory *inventory, const json_t *root, struct fail *fail)
{
    const char *key;
    json_t *value, *settings = json_object_get(root, "settings");
    int error = 0;
    if (json_object_size(settings) > INVENTORY_SETTINGS_MOST)
        return fail_set(fail, -EINVAL, "there are too many settings");
    json_object_foreach(settings, key, value)
    {
        struct inventory_setting *setting = &inventory->settings[inventory->setting_count++];
        if (!error && strlen(key) >= sizeof setting->key)
            error = fail_set(fail, -EINVAL, "a setting's name is too long");
        if (error)
            break;
        memcpy(setting->key, key, strlen(key) + 1);
        error = take_text(value, key, setting->value, sizeof setting->value, fail);
    }
    return error;
}

static int take_kinds(struct inventory *inventory, const json_t *root, struct fail *fail)
{
    const json_t *kinds = json_object_get(root, "kinds");
    int error = 0;
    if (json_array_size(kinds) > INVENTORY_KINDS_MOST)
        return fail_set(fail, -EINVAL, "there are more than %d kinds", INVENTORY_KINDS_MOST);
    for (size_t i = 0; i < json_array_size(kinds) && !error; i++)
        error = take_text(json_array_get(kinds, i), "kinds",
                          inventory->kinds[inventory->kind_count++], INVENTORY_KIND_BYTES, fail);
    return error;
}

static int take_tensor(struct inventory_tensor *tensor, const json_t *object, struct fail *fail)
{
    const json_t *shape = json_object_get(object, "shape");
    int error =
        take_text(json_object_get(object, "name"), "name", tensor->name, sizeof tensor->name, fail);
    tensor->dimensions = json_array_size(shape);
    tensor->count = 1;
    if (!error && tensor->dimensions > TENSORFILE_DIMENSIONS_MOST)
        error = fail_set(fail, -EINVAL, "%s has too many dimensions", tensor->name);
    for (size_t i = 0; i < tensor->dimensions && !error; i++) {
        json_int_t size = json_integer_value(json_array_get(shape, i)); // 0 where it is none
        tensor->shape[i] = size > 0 ? (size_t)size : 0;
        if (size <= 0 || __builtin_mul_overflow(tensor->count, tensor->shape[i], &tensor->count))
            error = fail_set(fail, -EINVAL, "%s has a shape that is none", tensor->name);
    }
    return error;
}

static int take_tensors(struct inventory *inventory, const json_t *root, struct fail *fail)
{
    const json_t *list = json_object_get(root, "tensors");
    int error =
        take_list(root, "tensors", sizeof *inventory->tensors, (void **)&inventory->tensors, fail);
    for (size_t i = 0; i < json_array_size(list) && !error; i++)
        error = take_tensor(&inventory->tensors[inventory->tensor_count++], json_array_get(list, i),
                            fail);
    return error;
}

static int take_index(const json_t *object, const char *key, size_t index, size_t *value,
                      struct fail *fail)
{
    const char *name = json_string_value(json_object_get(object, key));
    *value = index;
    return index != SIZE_MAX
               ? 0
               : fail_set(fail, -EINVAL, "a piece is of a %s '%.40s' that is not listed", key,
                          name ? name : "");
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static int take_piece(const struct inventory *inventory, struct inventory_piece *piece,
                      const json_t *object, struct fail *fail)
{
    size_t kind = inventory_kind(inventory, text_of(object, "kind"));
    size_t tensor = inventory_tensor(inventory, text_of(object, "tensor"));
    int error = take_index(object, "kind", kind, &piece->kind, fail);
    if (!error)
        error = take_index(object, "tensor", tensor, &piece->tensor, fail);
    if (!error)
        error = take_size(object, "begin", &piece->begin, fail);
    if (!error)
        error = take_size(object, "count", &piece->count, fail);
    if (!error)
        error = take_size(object, "offset_bytes", &piece->offset_bytes, fail);
    return error ? error : take_size(object, "crc32", &piece->crc32, fail);
}

static int take_pieces(struct inventory *inventory, size_t file, const json_t *list,
                       struct fail *fail)
{
    size_t count = inventory->piece_count + json_array_size(list);
    struct inventory_piece *pieces =
        realloc(inventory->pieces, (count + 1) * sizeof *inventory->pieces);
    int error = 0;
    if (!pieces)
        return fail_set(fail, -ENOMEM, "no memory for %zu pieces", count);
    inventory->pieces = pieces;
    for (size_t i = 0; i < json_array_size(list) && !error; i++) {
        struct inventory_piece *piece = &pieces[inventory->piece_count++];
        *piece = (struct inventory_piece){.file = file};
        error = take_piece(inventory, piece, json_array_get(list, i), fail);
    }
    return error;
}

/* A name that leads out of the folder is none. */
static int take_file(struct inventory *inventory, const json_t *object, struct fail *fail)
{
    struct inventory_file *file = &inventory->files[inventory->file_count++];
    int error =
        take_text(json_object_get(object, "name"), "name", file->name, sizeof file->name, fail);
    if (!error && strchr(file->name, '/'))
        error = fail_set(fail, -EINVAL, "file '%s' is not in this folder", file->name);
    if (!error)
        error = take_size(object, "size_bytes", &file->size_bytes, fail);
    if (!error)
        error = take_size(object, "header_bytes", &file->header_bytes, fail);
    if (!error)
        error = take_size(object, "header_crc32", &file->header_crc32, fail);
    if (!error && file->header_bytes > file->size_bytes)
        error = fail_set(fail, -EINVAL, "the header of %s is longer than the file", file->name);
    return error ? error
                 : take_pieces(inventory, inventory->file_count - 1,
                               json_object_get(object, "pieces"), fail);
}

static int take_files(struct inventory *inventory, const json_t *root, struct fail *fail)
{
    const json_t *list = json_object_get(root, "files");
    int error =
        take_list(root, "files", sizeof *inventory->files, (void **)&inventory->files, fail);
    for (size_t i = 0; i < json_array_size(list) && !error; i++)
        error = take_file(inventory, json_array_get(list, i), fail);
    return error;
}

static int check_sum(json_t *root, struct fail *fail)
{
    size_t said = 0, found = 0;
    int error = take_size(root, "crc32", &said, fail);
    if (error)
        return error;
    json_object_del(root, "crc32");
    if (inventory_json_crc(root, &found) != 0)
        return fail_set(fail, -ENOMEM, "no memory to check it");
    return said == found ? 0
                         : fail_set(fail, -EINVAL,
                                    "it is damaged: its checksum is %zu, it says %zu", found, said);
}

static int take_all(struct inventory *inventory, json_t *root, struct fail *fail)
{
    const char *format = text_of(root, "format");
    if (strcmp(format, INVENTORY_FORMAT) != 0)
        return fail_set(fail, -EINVAL, "format is '%.40s', not %s: not a checkpoint of this course",
                        *format ? format : "(none)", INVENTORY_FORMAT);
    int error = check_sum(root, fail);
    if (!error)
        error = take_numbers(inventory, root, fail);
    if (!error)
        error = take_settings(inventory, root, fail);
    if (!error)
        error = take_kinds(inventory, root, fail);
    if (!error)
        error = take_tensors(inventory, root, fail);
    if (!error)
        error = take_files(inventory, root, fail);
    return error ? error : inventory_check(inventory, fail);
}

/* O_NONBLOCK: opening a pipe that nobody writes to must not wait. */
static json_t *parse(const char *path, struct fail *fail)
{
    json_error_t wrong;
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = handle >= 0 ? fdopen(handle, "rb") : NULL;
    if (!file) {
        fail_set(fail, -errno, "cannot open it: %s", strerror(errno));
        if (handle >= 0)
            close(handle);
        return NULL;
    }
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &wrong);
    fclose(file);
    if (!root)
        fail_set(fail, -EINVAL, "it is no JSON, or cut: %s (line %d)", wrong.text, wrong.line);
    return root;
}

int inventory_read(struct inventory *inventory, const char *folder, struct fail *fail)
{
    char path[SHELF_PATH_BYTES];
    struct fail inner = {0};
    *inventory = (struct inventory){0};
    snprintf(path, sizeof path, "%s/%s", folder, SHELF_MANIFEST);
    json_t *root = parse(path, &inner);
    if (root)
        take_all(inventory, root, &inner);
    json_decref(root);
    return inner.code ? fail_set(fail, inner.code, "%s: %s", path, inner.text) : 0;
}
