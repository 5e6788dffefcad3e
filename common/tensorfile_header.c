/* tensorfile_header: checking what a tensor file says of itself. See the header. */
#include "common/tensorfile_header.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int parse_json(struct tensorfile_header *header, const char *text, size_t length,
                      struct fail *fail)
{
    json_error_t error;
    if (length == 0 || text[0] != '{')
        return fail_set(fail, -EINVAL, "%s: the header is not a JSON object", header->path);
    header->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!header->json)
        return fail_set(fail, -EINVAL, "%s: the header is not valid JSON: %s (byte %d)",
                        header->path, error.text, error.position);
    return 0;
}

/* --- one entry ------------------------------------------------------------------------------- */

static bool whole_number(const json_t *value, size_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (size_t)json_integer_value(value);
    return true;
}

static bool name_is_plain(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 32 || name[i] == 127)
            return false;
    return length > 0 && length < TENSORFILE_NAME_BYTES;
}

/* What is wrong with the shape, or NULL. */
static const char *take_shape(struct tensorfile_entry *entry, const json_t *shape)
{
    entry->dimensions = json_array_size(shape);
    if (!json_is_array(shape))
        return "has no shape";
    if (entry->dimensions > TENSORFILE_DIMENSIONS_MOST)
        return "has more dimensions than are read";
    entry->count = 1;
    for (size_t i = 0; i < entry->dimensions; i++) {
        if (!whole_number(json_array_get(shape, i), &entry->shape[i]))
            return "has a shape that is not made of whole numbers";
        if (__builtin_mul_overflow(entry->count, entry->shape[i], &entry->count))
            return "has a shape whose product does not fit 64 bits";
    }
    return NULL;
}

static const char *take_offsets(struct tensorfile_entry *entry, const json_t *offsets)
{
    size_t end, bytes;
    if (json_array_size(offsets) != 2 ||
        !whole_number(json_array_get(offsets, 0), &entry->offset_bytes) ||
        !whole_number(json_array_get(offsets, 1), &end))
        return "has data_offsets that are not two whole numbers";
    if (end < entry->offset_bytes)
        return "has data_offsets that end before they begin";
    if (__builtin_mul_overflow(entry->count, sizeof(float), &bytes))
        return "has a shape whose bytes do not fit 64 bits";
    return bytes == end - entry->offset_bytes ? NULL
                                              : "has a shape that disagrees with its offsets";
}

static int take_entry(const struct tensorfile_header *header, struct tensorfile_entry *entry,
                      const char *name, const json_t *value, struct fail *fail)
{
    if (!name_is_plain(name))
        return fail_set(fail, -EINVAL,
                        "%s: a tensor's name has %zu bytes or control characters; names of 1 to "
                        "%d bytes are read",
                        header->path, strlen(name), TENSORFILE_NAME_BYTES - 1);
    memcpy(entry->name, name, strlen(name) + 1);
    const char *type = json_string_value(json_object_get(value, "dtype"));
    if (!type)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has no dtype", header->path, name);
    if (strcmp(type, "F32") != 0)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has dtype %.16s, only F32 is read",
                        header->path, name, type);
    const char *wrong = take_shape(entry, json_object_get(value, "shape"));
    if (!wrong)
        wrong = take_offsets(entry, json_object_get(value, "data_offsets"));
    return wrong ? fail_set(fail, -EINVAL, "%s: tensor '%s' %s", header->path, name, wrong) : 0;
}

/* --- all entries ----------------------------------------------------------------------------- */

static int check_meta(const struct tensorfile_header *header, struct fail *fail)
{
    const char *key;
    json_t *meta = json_object_get(header->json, "__metadata__"), *value;
    if (meta && !json_is_object(meta))
        return fail_set(fail, -EINVAL, "%s: __metadata__ is not an object", header->path);
    json_object_foreach(meta, key, value) if (!json_is_string(value)) return fail_set(
        fail, -EINVAL, "%s: metadata '%.64s' is not a string", header->path, key);
    return 0;
}

static int take_entries(struct tensorfile_header *header, struct fail *fail)
{
    const char *name;
    json_t *value;
    header->entries = calloc(json_object_size(header->json) + 1, sizeof *header->entries);
    if (!header->entries)
        return fail_set(fail, -ENOMEM, "no memory for the entries of %s", header->path);
    json_object_foreach(header->json, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        int status = take_entry(header, &header->entries[header->count], name, value, fail);
        if (status)
            return status;
        header->count++;
    }
    return 0;
}

/* Empty tensors share their offset with a neighbour: they come first there. */
static int by_offset(const void *left, const void *right)
{
    const struct tensorfile_entry *a = left, *b = right;
    if (a->offset_bytes != b->offset_bytes)
        return a->offset_bytes < b->offset_bytes ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int check_tiles(const struct tensorfile_header *header, struct fail *fail)
{
    size_t end = 0;
    qsort(header->entries, header->count, sizeof *header->entries, by_offset);
    for (size_t i = 0; i < header->count; i++) {
        const struct tensorfile_entry *entry = &header->entries[i];
        if (entry->offset_bytes != end)
            return fail_set(fail, -EINVAL, "%s: tensor '%s' begins at byte %zu of the data, %s %zu",
                            header->path, entry->name, entry->offset_bytes,
                            entry->offset_bytes > end ? "a hole after" : "an overlap before", end);
        end += entry->count * sizeof(float);
    }
    if (end > header->data_bytes)
        return fail_set(fail, -EINVAL, "%s is truncated: %zu bytes of data of %zu", header->path,
                        header->data_bytes, end);
    if (end < header->data_bytes)
        return fail_set(fail, -EINVAL, "%s has %zu extra bytes after its last tensor", header->path,
                        header->data_bytes - end);
    return 0;
}

/* --- public ---------------------------------------------------------------------------------- */

int tensorfile_header_parse(struct tensorfile_header *header, const char *text, size_t length,
                            struct fail *fail)
{
    int status = parse_json(header, text, length, fail);
    if (!status)
        status = check_meta(header, fail);
    if (!status)
        status = take_entries(header, fail);
    return status ? status : check_tiles(header, fail);
}

void tensorfile_header_release(struct tensorfile_header *header)
{
    json_decref(header->json);
    free(header->entries);
    *header = (struct tensorfile_header){0};
}

const char *tensorfile_header_meta(const struct tensorfile_header *header, const char *key)
{
    return json_string_value(json_object_get(json_object_get(header->json, "__metadata__"), key));
}
