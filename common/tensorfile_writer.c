/*
 * tensorfile_writer: the writing half of tensorfile. See the header.
 *
 *     declare, declare, ...   begin     write, write, ...     commit
 *     (names, shapes)         header    values, in order      fsync, rename, fsync of the folder
 *
 * Until the rename everything happens in `path`.tmp-PID: whatever fails before, the old file is
 * untouched. The rename itself is durable only once the folder that holds the name is synced.
 */
#include "common/tensorfile.h"
#include "common/aside.h"
#include "common/sync.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tensorfile_writer {
    struct tensorfile_entry *entries;
    size_t count, capacity; // entries declared, and room for
    size_t data_bytes;      // of all declared so far
    json_t *meta;           // keys to strings
    char *path, *aside;     // NULL until begin
    FILE *file;             // open between begin and commit
    size_t written;         // tensors
    size_t run;             // elements of the next one
};

struct tensorfile_writer *tensorfile_new(void)
{
    struct tensorfile_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->meta = json_object();
    if (!writer->meta) {
        free(writer);
        return NULL;
    }
    return writer;
}

static int no_memory(struct fail *fail)
{
    return fail_set(fail, -ENOMEM, "out of memory while describing a tensor file");
}

/* --- declaring ------------------------------------------------------------------------------- */

static int check_name(const struct tensorfile_writer *writer, const char *name, struct fail *fail)
{
    size_t length = strlen(name);
    if (length == 0 || length >= TENSORFILE_NAME_BYTES)
        return fail_set(fail, -EINVAL, "tensor name '%s' has %zu bytes, it must have 1 to %d", name,
                        length, TENSORFILE_NAME_BYTES - 1);
    if (strcmp(name, "__metadata__") == 0)
        return fail_set(fail, -EINVAL, "the name __metadata__ is taken by the file format");
    for (size_t i = 0; i < writer->count; i++)
        if (strcmp(writer->entries[i].name, name) == 0)
            return fail_set(fail, -EINVAL, "tensor '%s' is declared twice", name);
    return 0;
}

/* Fills count and the offset; refuses a file whose size does not fit a signed 64-bit number, the
 * largest JSON and file offsets hold. */
static int place(const struct tensorfile_writer *writer, struct tensorfile_entry *entry,
                 struct fail *fail)
{
    size_t bytes, end;
    entry->count = 1;
    for (size_t i = 0; i < entry->dimensions; i++)
        if (__builtin_mul_overflow(entry->count, entry->shape[i], &entry->count))
            return fail_set(fail, -EINVAL, "tensor '%s' has too many elements", entry->name);
    if (__builtin_mul_overflow(entry->count, sizeof(float), &bytes) ||
        __builtin_add_overflow(writer->data_bytes, bytes, &end) || end > INT64_MAX / 2)
        return fail_set(fail, -EINVAL, "tensor '%s' makes the file too large", entry->name);
    entry->offset_bytes = writer->data_bytes;
    return 0;
}

static int reserve(struct tensorfile_writer *writer)
{
    if (writer->count < writer->capacity)
        return 0;
    size_t capacity = writer->capacity ? 2 * writer->capacity : 16;
    struct tensorfile_entry *entries = realloc(writer->entries, capacity * sizeof *entries);
    if (!entries)
        return -ENOMEM;
    writer->entries = entries;
    writer->capacity = capacity;
    return 0;
}

int tensorfile_declare(struct tensorfile_writer *writer, const char *name, const size_t *shape,
                       size_t dimensions, struct fail *fail)
{
    struct tensorfile_entry entry = {.dimensions = dimensions};
    int status = check_name(writer, name, fail);
    if (status)
        return status;
    if (dimensions > TENSORFILE_DIMENSIONS_MOST)
        return fail_set(fail, -EINVAL, "tensor '%s' has %zu dimensions, at most %d are written",
                        name, dimensions, TENSORFILE_DIMENSIONS_MOST);
    if (writer->path)
        return fail_set(fail, -EINVAL, "tensor '%s' is declared after %s was begun", name,
                        writer->path);
    memcpy(entry.name, name, strlen(name) + 1);
    for (size_t i = 0; i < dimensions; i++)
        entry.shape[i] = shape[i];
    status = place(writer, &entry, fail);
    if (status)
        return status;
    if (reserve(writer))
        return no_memory(fail);
    writer->entries[writer->count++] = entry;
    writer->data_bytes += entry.count * sizeof(float);
    return 0;
}

int tensorfile_meta(struct tensorfile_writer *writer, const char *key, const char *value,
                    struct fail *fail)
{
    if (json_object_get(writer->meta, key))
        return fail_set(fail, -EINVAL, "metadata '%s' is given twice", key);
    if (json_object_set_new(writer->meta, key, json_string(value)))
        return fail_set(fail, -EINVAL, "metadata '%s' cannot be written: '%s' is not UTF-8", key,
                        value);
    return 0;
}

/* --- the header ------------------------------------------------------------------------------ */

static json_t *describe(const struct tensorfile_entry *entry)
{
    json_int_t begin = (json_int_t)entry->offset_bytes;
    json_int_t end = begin + (json_int_t)(entry->count * sizeof(float));
    json_t *shape = json_array();
    for (size_t i = 0; shape && i < entry->dimensions; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)entry->shape[i]))) {
            json_decref(shape);
            return NULL;
        }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", begin,
                     end);
}

/* The header's text, to be freed; NULL when there is no memory. */
static char *header_text(const struct tensorfile_writer *writer)
{
    char *text = NULL;
    json_t *header = json_object();
    if (!header)
        return NULL;
    if (json_object_size(writer->meta) &&
        json_object_set(header, "__metadata__", writer->meta) != 0)
        goto done;
    for (size_t i = 0; i < writer->count; i++)
        if (json_object_set_new(header, writer->entries[i].name, describe(&writer->entries[i])))
            goto done;
    text = json_dumps(header, JSON_COMPACT);
done:
    json_decref(header);
    return text;
}

/* Spaces fill the header up to a multiple of 8, so that the data is aligned in the file. */
static bool put_header(FILE *file, const char *text)
{
    size_t length = strlen(text);
    uint64_t padded = (length + 7) / 8 * 8;
    return fwrite(&padded, sizeof padded, 1, file) == 1 &&
           fwrite(text, 1, length, file) == length &&
           fprintf(file, "%*s", (int)(padded - length), "") >= 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static int cannot(const struct tensorfile_writer *writer, const char *verb, int error,
                  struct fail *fail)
{
    int code = error > 0 ? -error : -EIO;
    return fail_set(fail, code, "cannot %s %s: %s; %s is left as it was", verb, writer->aside,
                    strerror(-code), writer->path);
}

static int set_paths(struct tensorfile_writer *writer, const char *path)
{
    writer->path = strdup(path);
    writer->aside = aside_name(path);
    return writer->path && writer->aside ? 0 : -ENOMEM;
}

int tensorfile_begin(struct tensorfile_writer *writer, const char *path, struct fail *fail)
{
    if (writer->path)
        return fail_set(fail, -EINVAL, "%s cannot be begun: the writer has begun %s", path,
                        writer->path);
    if (set_paths(writer, path))
        return no_memory(fail);
    char *text = header_text(writer);
    if (!text)
        return no_memory(fail);
    errno = 0;
    writer->file = fopen(writer->aside, "wbe");
    bool opened = writer->file != NULL, put = opened && put_header(writer->file, text);
    int error = errno;
    free(text);
    return put ? 0 : cannot(writer, opened ? "write" : "create", error, fail);
}

/* The tensor that is awaited, or NULL. */
static const struct tensorfile_entry *awaited(const struct tensorfile_writer *writer)
{
    return writer->file && writer->written < writer->count ? &writer->entries[writer->written]
                                                           : NULL;
}

int tensorfile_write_run(struct tensorfile_writer *writer, const float *values, size_t count,
                         struct fail *fail)
{
    const struct tensorfile_entry *entry = awaited(writer);
    if (!entry)
        return fail_set(fail, -EINVAL, "%zu values to write, but no tensor is awaited", count);
    if (count > entry->count - writer->run)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has %zu elements, not %zu", writer->path,
                        entry->name, entry->count, writer->run + count);
    errno = 0;
    if (count && fwrite(values, sizeof *values, count, writer->file) != count)
        return cannot(writer, "write", errno, fail);
    writer->run += count;
    if (writer->run < entry->count)
        return 0;
    writer->written++;
    writer->run = 0;
    return 0;
}

int tensorfile_write(struct tensorfile_writer *writer, const float *values, size_t count,
                     struct fail *fail)
{
    const struct tensorfile_entry *entry = awaited(writer);
    if (entry && count != entry->count)
        return fail_set(fail, -EINVAL, "%s: tensor '%s' has %zu elements, not %zu", writer->path,
                        entry->name, entry->count, count);
    return tensorfile_write_run(writer, values, count, fail);
}

static int sync_name(const struct tensorfile_writer *writer, struct fail *fail)
{
    const char *slash = strrchr(writer->path, '/');
    size_t length = slash ? (size_t)(slash - writer->path) + 1 : 1;
    char *folder = slash ? strndup(writer->path, length) : strdup(".");
    if (!folder)
        return no_memory(fail);
    int error = sync_folder(folder);
    if (error)
        fail_set(fail, error, "%s is written, but its folder %s cannot be synced: %s", writer->path,
                 folder, strerror(-error));
    free(folder);
    return error;
}

int tensorfile_commit(struct tensorfile_writer *writer, struct fail *fail)
{
    if (!writer->file || writer->written != writer->count)
        return fail_set(fail, -EINVAL, "%s cannot be finished: %zu of %zu tensors are written",
                        writer->path ? writer->path : "a tensor file", writer->written,
                        writer->count);
    errno = 0;
    bool synced = fflush(writer->file) == 0 && fsync(fileno(writer->file)) == 0;
    int error = errno;
    bool closed = fclose(writer->file) == 0;
    writer->file = NULL;
    if (!synced || !closed)
        return cannot(writer, "write", synced ? errno : error, fail);
    if (rename(writer->aside, writer->path))
        return cannot(writer, "rename", errno, fail);
    free(writer->aside);
    writer->aside = NULL;
    return sync_name(writer, fail);
}

void tensorfile_discard(struct tensorfile_writer *writer)
{
    if (!writer)
        return;
    if (writer->file)
        fclose(writer->file);
    if (writer->aside)
        unlink(writer->aside);
    json_decref(writer->meta);
    free(writer->entries);
    free(writer->path);
    free(writer->aside);
    free(writer);
}
