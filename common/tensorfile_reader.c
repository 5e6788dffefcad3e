/*
 * tensorfile_reader: the reading half of tensorfile. See the header.
 *
 * A file comes from anywhere. Nothing in it is used before it is checked, in this order: the
 * length of the header against the file's size, the JSON, each entry by itself, and all entries
 * together: sorted by offset they must tile the data,
 *
 *     0        8            20                size of the data
 *     | bias   | weight     | ...             |      no hole, no overlap, nothing missing or left
 */
#include "common/tensorfile.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, HEADER_MOST_BYTES = 100000000 }; // the latter as the format's own reader

struct tensorfile_reader {
    int handle;
    char *path;
    size_t size_bytes; // of the file
    size_t data_bytes; // of it, after the header
    json_t *header;
    struct tensorfile_entry *entries; // in the order of the data
    size_t count;
};

/* --- bytes ----------------------------------------------------------------------------------- */

static int read_bytes(const struct tensorfile_reader *reader, size_t offset, void *bytes,
                      size_t size, struct fail *fail)
{
    char *at = bytes;
    while (size) {
        ssize_t got = pread(reader->handle, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_set(fail, -errno, "cannot read %s: %s", reader->path, strerror(errno));
        if (got == 0)
            return fail_set(fail, -EIO, "%s became shorter while it was read", reader->path);
        at += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* O_NONBLOCK: opening a pipe that nobody writes to must not wait. */
static int open_file(struct tensorfile_reader *reader, const char *path, struct fail *fail)
{
    struct stat status;
    reader->path = strdup(path);
    if (!reader->path)
        return fail_set(fail, -ENOMEM, "out of memory while opening %s", path);
    reader->handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (reader->handle < 0 || fstat(reader->handle, &status) < 0)
        return fail_set(fail, -errno, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail_set(fail, -EINVAL, "%s is not a file that tensors could be read from", path);
    reader->size_bytes = (size_t)status.st_size;
    return 0;
}

/* --- the header's text ----------------------------------------------------------------------- */

static int check_length(const struct tensorfile_reader *reader, uint64_t length, struct fail *fail)
{
    if (length > HEADER_MOST_BYTES)
        return fail_set(fail, -EINVAL,
                        "%s is not a safetensors file: its first 8 bytes ask for a header of %llu "
                        "bytes, at most %d are allowed",
                        reader->path, (unsigned long long)length, HEADER_MOST_BYTES);
    if (length > reader->size_bytes - LENGTH_BYTES)
        return fail_set(
            fail, -EINVAL, "%s is truncated: its header takes %llu bytes, the file holds %zu more",
            reader->path, (unsigned long long)length, reader->size_bytes - LENGTH_BYTES);
    return 0;
}

static int parse(struct tensorfile_reader *reader, const char *text, size_t length,
                 struct fail *fail)
{
    json_error_t error;
    if (length == 0 || text[0] != '{')
        return fail_set(fail, -EINVAL, "%s: the header is not a JSON object", reader->path);
    reader->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!reader->header)
        return fail_set(fail, -EINVAL, "%s: the header is not valid JSON: %s (byte %d)",
                        reader->path, error.text, error.position);
    return 0;
}

static int load_header(struct tensorfile_reader *reader, struct fail *fail)
{
    uint64_t length;
    if (reader->size_bytes < LENGTH_BYTES)
        return fail_set(fail, -EINVAL, "%s is truncated: %zu bytes, no header", reader->path,
                        reader->size_bytes);
    int status = read_bytes(reader, 0, &length, sizeof length, fail);
    if (status)
        return status;
    status = check_length(reader, length, fail);
    if (status)
        return status;
    char *text = malloc(length + 1);
    if (!text)
        return fail_set(fail, -ENOMEM, "no memory for the header of %s", reader->path);
    status = read_bytes(reader, LENGTH_BYTES, text, length, fail);
    if (!status)
        status = parse(reader, text, length, fail);
    free(text);
    reader->data_bytes = reader->size_bytes - LENGTH_BYTES - length;
    return status;
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

static int take_entry(const struct tensorfile_reader *reader, struct tensorfile_entry *entry,
                      const char *name, const json_t *value, struct fail *fail)
{
    if (!name_is_plain(name))
        return fail_set(fail, -EINVAL,
                        "%s: a tensor's name has %zu bytes or control characters; names of 1 to "
                        "%d bytes are read",
                        reader->path, strlen(name), TENSORFILE_NAME_BYTES - 1);
    memcpy(entry->name, name, strlen(name) + 1);
    const char *type = json_string_value(json_object_get(value, "dtype"));
    if (!type)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has no dtype", reader->path, name);
    if (strcmp(type, "F32") != 0)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has dtype %.16s, only F32 is read",
                        reader->path, name, type);
    const char *wrong = take_shape(entry, json_object_get(value, "shape"));
    if (!wrong)
        wrong = take_offsets(entry, json_object_get(value, "data_offsets"));
    return wrong ? fail_set(fail, -EINVAL, "%s: tensor '%s' %s", reader->path, name, wrong) : 0;
}

/* --- all entries ----------------------------------------------------------------------------- */

static int check_meta(const struct tensorfile_reader *reader, struct fail *fail)
{
    const char *key;
    json_t *meta = json_object_get(reader->header, "__metadata__"), *value;
    if (meta && !json_is_object(meta))
        return fail_set(fail, -EINVAL, "%s: __metadata__ is not an object", reader->path);
    json_object_foreach(meta, key, value) if (!json_is_string(value)) return fail_set(
        fail, -EINVAL, "%s: metadata '%.64s' is not a string", reader->path, key);
    return 0;
}

static int take_entries(struct tensorfile_reader *reader, struct fail *fail)
{
    const char *name;
    json_t *value;
    reader->entries = calloc(json_object_size(reader->header) + 1, sizeof *reader->entries);
    if (!reader->entries)
        return fail_set(fail, -ENOMEM, "no memory for the entries of %s", reader->path);
    json_object_foreach(reader->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        int status = take_entry(reader, &reader->entries[reader->count], name, value, fail);
        if (status)
            return status;
        reader->count++;
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

static int check_tiles(const struct tensorfile_reader *reader, struct fail *fail)
{
    size_t end = 0;
    qsort(reader->entries, reader->count, sizeof *reader->entries, by_offset);
    for (size_t i = 0; i < reader->count; i++) {
        const struct tensorfile_entry *entry = &reader->entries[i];
        if (entry->offset_bytes != end)
            return fail_set(fail, -EINVAL, "%s: tensor '%s' begins at byte %zu of the data, %s %zu",
                            reader->path, entry->name, entry->offset_bytes,
                            entry->offset_bytes > end ? "a hole after" : "an overlap before", end);
        end += entry->count * sizeof(float);
    }
    if (end > reader->data_bytes)
        return fail_set(fail, -EINVAL, "%s is truncated: %zu bytes of data of %zu", reader->path,
                        reader->data_bytes, end);
    if (end < reader->data_bytes)
        return fail_set(fail, -EINVAL, "%s has %zu extra bytes after its last tensor", reader->path,
                        reader->data_bytes - end);
    return 0;
}

/* --- public ---------------------------------------------------------------------------------- */

int tensorfile_open(struct tensorfile_reader **reader, const char *path, struct fail *fail)
{
    *reader = NULL;
    struct tensorfile_reader *opened = calloc(1, sizeof *opened);
    if (!opened)
        return fail_set(fail, -ENOMEM, "out of memory while opening %s", path);
    opened->handle = -1;
    int status = open_file(opened, path, fail);
    if (!status)
        status = load_header(opened, fail);
    if (!status)
        status = check_meta(opened, fail);
    if (!status)
        status = take_entries(opened, fail);
    if (!status)
        status = check_tiles(opened, fail);
    if (status)
        tensorfile_close(opened);
    else
        *reader = opened;
    return status;
}

void tensorfile_close(struct tensorfile_reader *reader)
{
    if (!reader)
        return;
    if (reader->handle >= 0)
        close(reader->handle);
    json_decref(reader->header);
    free(reader->entries);
    free(reader->path);
    free(reader);
}

size_t tensorfile_count(const struct tensorfile_reader *reader)
{
    return reader->count;
}

const struct tensorfile_entry *tensorfile_at(const struct tensorfile_reader *reader, size_t index)
{
    return index < reader->count ? &reader->entries[index] : NULL;
}

const struct tensorfile_entry *tensorfile_find(const struct tensorfile_reader *reader,
                                               const char *name)
{
    for (size_t i = 0; i < reader->count; i++)
        if (strcmp(reader->entries[i].name, name) == 0)
            return &reader->entries[i];
    return NULL;
}

const char *tensorfile_meta_find(const struct tensorfile_reader *reader, const char *key)
{
    return json_string_value(json_object_get(json_object_get(reader->header, "__metadata__"), key));
}

int tensorfile_read(const struct tensorfile_reader *reader, const struct tensorfile_entry *entry,
                    size_t begin, float *values, size_t count, struct fail *fail)
{
    if (begin > entry->count || count > entry->count - begin)
        return fail_set(fail, -EINVAL, "%s: elements %zu to %zu of '%s' do not exist, it has %zu",
                        reader->path, begin, begin + count, entry->name, entry->count);
    size_t data_begin = reader->size_bytes - reader->data_bytes;
    return read_bytes(reader, data_begin + entry->offset_bytes + begin * sizeof(float), values,
                      count * sizeof(float), fail);
}
