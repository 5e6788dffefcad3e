/*
 * bytes: the first bytes of a file in memory. See the header.
 *
 * zlib's gzread() would be shorter, but it passes over what follows the last member in silence.
 */
#include "common/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { ROOM_BYTES = 1 << 16, PIECE_BYTES = 1 << 16, AT_ONCE_BYTES = 1 << 30, GZIP_ONLY = 16 };

/* A file, piece by piece, and where it goes. */
struct reading {
    const char *path;
    FILE *file;
    unsigned char piece[PIECE_BYTES];
    size_t count;        // of this piece
    size_t before;       // bytes of the pieces before it
    struct bytes *bytes; // what was read, or unpacked
    size_t most;
    struct fail *fail;
};

/* Room for a byte at least, unless all has come that was asked for. */
static int reserve(struct reading *reading)
{
    struct bytes *bytes = reading->bytes;
    if (bytes->count < bytes->room || bytes->count == reading->most)
        return 0;
    size_t room = bytes->room ? bytes->room * 2 : ROOM_BYTES;
    if (room > reading->most || room < bytes->room)
        room = reading->most;
    unsigned char *data =
        memory_grow(bytes->memory, MEMORY_BUFFERS, bytes->data, (struct growth){bytes->room, room});
    if (!data)
        return fail_set(reading->fail, -ENOMEM, "%s: no memory for %zu bytes of it", reading->path,
                        room);
    bytes->data = data;
    bytes->room = room;
    return 0;
}

/* The next piece; an empty one at the end. */
static int next_piece(struct reading *reading)
{
    errno = 0;
    reading->before += reading->count;
    reading->count = fread(reading->piece, 1, PIECE_BYTES, reading->file);
    if (!ferror(reading->file))
        return 0;
    int code = errno ? -errno : -EIO;
    return fail_set(reading->fail, code, "%s: cannot be read: %s", reading->path, strerror(-code));
}

static int copy_piece(struct reading *reading)
{
    struct bytes *bytes = reading->bytes;
    for (size_t from = 0; from < reading->count && bytes->count < reading->most;) {
        int error = reserve(reading);
        if (error)
            return error;
        size_t left = reading->count - from, room = bytes->room - bytes->count;
        size_t count = left < room ? left : room;
        memcpy(bytes->data + bytes->count, reading->piece + from, count);
        bytes->count += count;
        from += count;
    }
    return 0;
}

static int copy_all(struct reading *reading)
{
    int error = 0;
    while (reading->count > 0 && reading->bytes->count < reading->most && !error) {
        error = copy_piece(reading);
        if (!error)
            error = next_piece(reading);
    }
    return error;
}

/* The bytes that zlib unpacks next; none at the end of the file. */
static int refill(struct reading *reading, z_stream *z)
{
    if (z->avail_in > 0)
        return 0;
    int error = next_piece(reading);
    z->next_in = reading->piece;
    z->avail_in = (uInt)reading->count;
    return error;
}

/* Into the room there is, at most AT_ONCE_BYTES: zlib counts in unsigned int. */
static int inflate_some(struct bytes *bytes, z_stream *z)
{
    size_t room = bytes->room - bytes->count;
    z->avail_out = (uInt)(room < AT_ONCE_BYTES ? room : AT_ONCE_BYTES);
    z->next_out = bytes->data + bytes->count;
    int state = z->avail_in > 0 ? inflate(z, Z_NO_FLUSH) : Z_BUF_ERROR;
    bytes->count = (size_t)(z->next_out - bytes->data);
    return state;
}

static int judge(const struct reading *reading, const z_stream *z, int state)
{
    if (state == Z_OK || state == Z_STREAM_END)
        return 0;
    if (state == Z_MEM_ERROR)
        return fail_set(reading->fail, -ENOMEM, "%s: no memory to unpack it", reading->path);
    size_t at = reading->before + reading->count - z->avail_in;
    if (state == Z_BUF_ERROR)
        return fail_set(reading->fail, -EINVAL,
                        "%s: the gzip data is cut off: it ends after %zu bytes, %zu unpacked, "
                        "before its checksum",
                        reading->path, at, reading->bytes->count);
    return fail_set(reading->fail, -EINVAL, "%s: the gzip data is damaged near byte %zu: %s",
                    reading->path, at, z->msg ? z->msg : zError(state));
}

/* Until the end of the last member, or until there is enough. */
static int inflate_all(struct reading *reading)
{
    z_stream z = {.next_in = reading->piece, .avail_in = (uInt)reading->count};
    int state = inflateInit2(&z, MAX_WBITS + GZIP_ONLY), error = 0;
    while (state == Z_OK && reading->bytes->count < reading->most) {
        error = reserve(reading);
        error = error ? error : refill(reading, &z);
        if (error)
            break;
        state = inflate_some(reading->bytes, &z);
        error = state == Z_STREAM_END ? refill(reading, &z) : 0;
        if (state == Z_STREAM_END && z.avail_in > 0)
            state = inflateReset(&z); // another member follows
    }
    error = error ? error : judge(reading, &z, state);
    inflateEnd(&z);
    return error;
}

int bytes_read(struct bytes *bytes, const char *path, size_t most, struct memory *memory,
               struct fail *fail)
{
    *bytes = (struct bytes){.memory = memory};
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_set(fail, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    struct reading reading = {
        .path = path, .file = file, .bytes = bytes, .most = most, .fail = fail};
    int error = next_piece(&reading);
    bool packed = reading.count >= 2 && reading.piece[0] == 0x1f && reading.piece[1] == 0x8b;
    if (!error)
        error = packed ? inflate_all(&reading) : copy_all(&reading);
    fclose(file);
    return error;
}

void bytes_release(struct bytes *bytes)
{
    memory_give_back(bytes->memory, MEMORY_BUFFERS, bytes->data, bytes->room);
    *bytes = (struct bytes){0};
}
