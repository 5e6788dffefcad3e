/*
 * tensorfile_reader: the reading half of tensorfile. See the header.
 *
 * A file comes from anywhere. Nothing in it is used before it is checked: that it is a file, that
 * the length of its header fits into it, and then all the header says (tensorfile_header.h). Values
 * are read where they lie, by pread: a reader has no position, several threads may share it.
 */
#include "common/tensorfile.h"
#include "common/tensorfile_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, HEADER_MOST_BYTES = 100000000 }; // the latter as the format's own reader

struct tensorfile_reader {
    int handle;
    char *path;
    size_t size_bytes; // of the file
    struct tensorfile_header header;
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
    reader->header.path = reader->path;
    reader->header.data_bytes = reader->size_bytes - LENGTH_BYTES - length;
    if (!status)
        status = tensorfile_header_parse(&reader->header, text, length, fail);
    free(text);
    return status;
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
    tensorfile_header_release(&reader->header);
    free(reader->path);
    free(reader);
}

size_t tensorfile_count(const struct tensorfile_reader *reader)
{
    return reader->header.count;
}

const struct tensorfile_entry *tensorfile_at(const struct tensorfile_reader *reader, size_t index)
{
    return index < reader->header.count ? &reader->header.entries[index] : NULL;
}

const struct tensorfile_entry *tensorfile_find(const struct tensorfile_reader *reader,
                                               const char *name)
{
    for (size_t i = 0; i < reader->header.count; i++)
        if (strcmp(reader->header.entries[i].name, name) == 0)
            return &reader->header.entries[i];
    return NULL;
}

const char *tensorfile_meta_find(const struct tensorfile_reader *reader, const char *key)
{
    return tensorfile_header_meta(&reader->header, key);
}

int tensorfile_read(const struct tensorfile_reader *reader, const struct tensorfile_entry *entry,
                    size_t begin, float *values, size_t count, struct fail *fail)
{
    if (begin > entry->count || count > entry->count - begin)
        return fail_set(fail, -EINVAL, "%s: elements %zu to %zu of '%s' do not exist, it has %zu",
                        reader->path, begin, begin + count, entry->name, entry->count);
    size_t data_begin = reader->size_bytes - reader->header.data_bytes;
    return read_bytes(reader, data_begin + entry->offset_bytes + begin * sizeof(float), values,
                      count * sizeof(float), fail);
}
