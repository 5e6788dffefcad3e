/*
 * bytes: a whole file in memory. See the header.
 *
 * zlib's gzread() would be shorter, but it passes over what follows the last member in silence.
 */
#include "common/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROOM_BYTES = 1 << 16, PIECE_BYTES = 1 << 30, GZIP_ONLY = 16 };

static int reserve(struct bytes *bytes)
{
    if (bytes->count < bytes->room)
        return 0;
    size_t room = bytes->room ? bytes->room * 2 : ROOM_BYTES;
    unsigned char *data = room > bytes->room ? realloc(bytes->data, room) : NULL;
    if (!data)
        return -ENOMEM;
    bytes->data = data;
    bytes->room = room;
    return 0;
}

static int read_all(struct bytes *bytes, FILE *file)
{
    for (;;) {
        if (reserve(bytes) < 0)
            return -ENOMEM;
        size_t room = bytes->room - bytes->count;
        errno = 0;
        size_t count = fread(bytes->data + bytes->count, 1, room, file);
        bytes->count += count;
        if (ferror(file))
            return errno ? -errno : -EIO;
        if (count < room)
            return 0;
    }
}

static int read_file(struct bytes *bytes, const char *path, struct fail *fail)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_set(fail, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    int code = read_all(bytes, file);
    fclose(file);
    if (code < 0)
        return fail_set(fail, code, "%s: cannot be read: %s", path, strerror(-code));
    return 0;
}

/* Hands zlib at most PIECE_BYTES on either side, as it counts in unsigned int. Z_OK while there is
 * more to do, Z_STREAM_END when all of `packed` was members, Z_BUF_ERROR when it ended inside
 * one. */
static int inflate_piece(z_stream *z, const struct bytes *packed, struct bytes *bytes)
{
    size_t left = packed->count - (size_t)(z->next_in - packed->data);
    size_t room = bytes->room - bytes->count;
    z->avail_in = (uInt)(left < PIECE_BYTES ? left : PIECE_BYTES);
    z->avail_out = (uInt)(room < PIECE_BYTES ? room : PIECE_BYTES);
    z->next_out = bytes->data + bytes->count;
    int state = inflate(z, Z_NO_FLUSH);
    bytes->count = (size_t)(z->next_out - bytes->data);
    if (state == Z_STREAM_END && z->next_in < packed->data + packed->count)
        return inflateReset(z); // another member follows
    return state;
}

static int inflate_all(struct bytes *bytes, const struct bytes *packed, const char *path,
                       struct fail *fail)
{
    z_stream z = {.next_in = packed->data};
    int state = inflateInit2(&z, MAX_WBITS + GZIP_ONLY);
    while (state == Z_OK)
        state = reserve(bytes) < 0 ? Z_MEM_ERROR : inflate_piece(&z, packed, bytes);
    size_t at = (size_t)(z.next_in - packed->data);
    int code = 0;
    if (state == Z_MEM_ERROR)
        code = fail_set(fail, -ENOMEM, "%s: no memory to unpack it", path);
    else if (state == Z_BUF_ERROR)
        code = fail_set(fail, -EINVAL,
                        "%s: the gzip data is cut off: it ends after %zu bytes, %zu unpacked, "
                        "before its checksum",
                        path, packed->count, bytes->count);
    else if (state != Z_STREAM_END)
        code = fail_set(fail, -EINVAL, "%s: the gzip data is damaged near byte %zu: %s", path, at,
                        z.msg ? z.msg : zError(state));
    inflateEnd(&z);
    return code;
}

int bytes_read(struct bytes *bytes, const char *path, struct fail *fail)
{
    *bytes = (struct bytes){0};
    int code = read_file(bytes, path, fail);
    if (code < 0 || bytes->count < 2 || bytes->data[0] != 0x1f || bytes->data[1] != 0x8b)
        return code;
    struct bytes packed = *bytes;
    *bytes = (struct bytes){0};
    code = inflate_all(bytes, &packed, path, fail);
    bytes_release(&packed);
    return code;
}

void bytes_release(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}
