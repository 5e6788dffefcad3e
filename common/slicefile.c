/* slicefile: one file of a saved update, read piece by piece. See the header. */
#include "common/slicefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TILE_BYTES = 1 << 16, TILE = TILE_BYTES / sizeof(float) };

static int read_at(int handle, size_t offset, void *bytes, size_t size, const char *path,
                   struct fail *fail)
{
    for (char *at = bytes; size > 0;) {
        ssize_t got = pread(handle, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_set(fail, -errno, "cannot read %s: %s", path, strerror(errno));
        if (got == 0)
            return fail_set(fail, -EIO, "%s became shorter while it was read", path);
        at += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* O_NONBLOCK: opening a pipe that nobody writes to must not wait. */
static int open_file(const char *path, size_t *size_bytes, struct fail *fail)
{
    struct stat status;
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error = handle < 0 || fstat(handle, &status) != 0 ? -errno : 0;
    if (error)
        fail_set(fail, error, "cannot open %s: %s", path, strerror(-error));
    else if (!S_ISREG(status.st_mode))
        error = fail_set(fail, -EINVAL, "%s is no file", path);
    else
        *size_bytes = (size_t)status.st_size;
    if (error && handle >= 0)
        close(handle);
    return error ? error : handle;
}

static int sum_bytes(const struct slicefile *slicefile, size_t count, size_t *crc,
                     struct fail *fail)
{
    uLong sum = 0;
    for (size_t at = 0; at < count;) {
        size_t part = count - at < TILE_BYTES ? count - at : TILE_BYTES;
        int error = read_at(slicefile->handle, at, slicefile->tile, part, slicefile->path, fail);
        if (error)
            return error;
        sum = crc32_z(sum, (const unsigned char *)slicefile->tile, part);
        at += part;
    }
    *crc = sum;
    return 0;
}

static int check_file(const struct slicefile *slicefile, size_t size_bytes, struct fail *fail)
{
    const struct inventory_file *file = slicefile->file;
    size_t crc;
    if (size_bytes != file->size_bytes)
        return fail_set(fail, -EINVAL, "%s is damaged: %zu bytes, its manifest says %zu",
                        slicefile->path, size_bytes, file->size_bytes);
    int error = sum_bytes(slicefile, file->header_bytes, &crc, fail);
    return error || crc == file->header_crc32
               ? error
               : fail_set(fail, -EINVAL,
                          "%s is damaged, or of another checkpoint: its header's checksum is %zu, "
                          "its manifest says %zu",
                          slicefile->path, crc, file->header_crc32);
}

int slicefile_open(struct slicefile *slicefile, const char *path, const struct inventory_file *file,
                   struct fail *fail)
{
    size_t size_bytes = 0;
    *slicefile = (struct slicefile){.path = path, .file = file};
    slicefile->handle = open_file(path, &size_bytes, fail);
    if (slicefile->handle < 0)
        return slicefile->handle;
    slicefile->tile = malloc(TILE_BYTES);
    int error = slicefile->tile ? check_file(slicefile, size_bytes, fail)
                                : fail_set(fail, -ENOMEM, "no memory to read %s", path);
    if (error)
        slicefile_close(slicefile);
    return error;
}

void slicefile_close(struct slicefile *slicefile)
{
    close(slicefile->handle);
    free(slicefile->tile);
    slicefile->tile = NULL;
}

int slicefile_read(const struct slicefile *slicefile, const struct inventory *inventory,
                   const struct inventory_piece *piece, const struct slicefile_sink *sink,
                   struct fail *fail)
{
    uLong sum = 0;
    int error = 0;
    for (size_t at = 0; at < piece->count && !error;) {
        size_t part = piece->count - at < TILE ? piece->count - at : TILE;
        error = read_at(slicefile->handle, piece->offset_bytes + at * sizeof(float),
                        slicefile->tile, part * sizeof(float), slicefile->path, fail);
        if (error)
            return error;
        sum = crc32_z(sum, (const unsigned char *)slicefile->tile, part * sizeof(float));
        error = sink->take(sink->context, piece->begin + at, slicefile->tile, part, fail);
        at += part;
    }
    if (error || sum == piece->crc32)
        return error;
    return fail_set(fail, -EINVAL,
                    "%s is damaged: the checksum of %s.%s, elements %zu to %zu, is %lu, its "
                    "manifest says %zu",
                    slicefile->path, inventory->kinds[piece->kind],
                    inventory->tensors[piece->tensor].name, piece->begin,
                    piece->begin + piece->count, sum, piece->crc32);
}

int slicefile_describe(struct inventory_file *file, const char *path, struct fail *fail)
{
    struct slicefile written = {.path = path};
    uint64_t length = 0;
    written.handle = open_file(path, &file->size_bytes, fail);
    if (written.handle < 0)
        return written.handle;
    written.tile = malloc(TILE_BYTES);
    int error = written.tile ? read_at(written.handle, 0, &length, sizeof length, path, fail)
                             : fail_set(fail, -ENOMEM, "no memory to check %s", path);
    file->header_bytes = sizeof length + (size_t)length;
    if (!error)
        error = sum_bytes(&written, file->header_bytes, &file->header_crc32, fail);
    slicefile_close(&written);
    return error;
}
