/* link: bytes over one connected stream socket. See the header; mpi_link.c has them go by MPI. */
#include "lesson02_allreduce/link.h"
#include "lesson02_allreduce/slow.h"

#include <unistd.h>

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct link *link = handle->data;
    if (link->line)
        buffer->base = (char *)slow_room(link->line, &buffer->len);
    else
        buffer->base = (char *)link_space(link, &buffer->len); // not uv_buf_init: 32 bits of length
}

static void on_read(uv_stream_t *stream, ssize_t result, const uv_buf_t *buffer);

/* An end without a buffer was not read, but guessed: libuv takes a short read before a hang-up for
 * the last one, though a signal may have cut it short. So it is to read on, until it can tell. A
 * second guess with no byte in between is believed. */
static bool reads_on(struct link *link, ssize_t result, const uv_buf_t *buffer)
{
    if (result != UV_EOF || buffer->base || link->doubted_bytes == link->received_bytes)
        return false;
    link->doubted_bytes = link->received_bytes;
    return uv_read_start(&link->stream.uv, on_alloc, on_read) == 0;
}

static void on_read(uv_stream_t *stream, ssize_t result, const uv_buf_t *buffer)
{
    struct link *link = stream->data;
    if (result == 0) // nothing to read after all: not an end
        return;
    if (reads_on(link, result, buffer))
        return;
    if (result == UV_ENOBUFS) { // on_alloc had no room
        uv_read_stop(stream);
        link->paused = true;
        return;
    }
    if (result > 0)
        link->received_bytes += (uint64_t)result;
    if (link->line)
        slow_read(link->line, result);
    else if (result < 0)
        link_show_end(link, (int)result);
    else
        link_took(link, (size_t)result);
}

int link_open(struct link *link, uv_loop_t *loop, int fd, size_t staging_bytes)
{
    int error = stream_adopt(&link->stream, loop, fd);
    link->open = link->stream.handle.type != UV_UNKNOWN_HANDLE;
    if (error) {
        close(fd);
        return error;
    }
    link->stream.handle.data = link;
    link->capacity_bytes = staging_bytes;
    link->staging = memory_take(link->memory, MEMORY_BUFFERS, staging_bytes);
    if (!link->staging)
        return UV_ENOMEM;
    return uv_read_start(&link->stream.uv, on_alloc, on_read);
}

void link_close(struct link *link)
{
    if (link->open)
        uv_close(&link->stream.handle, NULL);
    link->open = false;
}

void link_release(struct link *link)
{
    memory_give_back(link->memory, MEMORY_BUFFERS, link->staging, link->capacity_bytes);
    link->staging = NULL;
}

size_t link_memory_bytes(size_t staging_bytes)
{
    return staging_bytes;
}

void link_discard(int fd)
{
    close(fd);
}

void link_resume(struct link *link)
{
    if (!link->paused)
        return;
    link->paused = false;
    int error = uv_read_start(&link->stream.uv, on_alloc, on_read);
    if (error)
        link->error = error;
}

static void record(struct link *link, struct parcel *parcel, int error)
{
    parcel->error = error;
    if (error && link->line)
        slow_hasten(link->line);
}

static void on_written(uv_write_t *request, int status)
{
    struct parcel *parcel = request->data;
    parcel->busy = false;
    record(request->handle->data, parcel, status);
}

/* Drops the first `bytes` bytes of some buffers. */
static void advance(uv_buf_t *buffers, unsigned count, size_t bytes)
{
    // task 02.3 {
    for (unsigned i = 0; i < count; i++) {
        size_t part = bytes < buffers[i].len ? bytes : buffers[i].len;
        buffers[i].base += part;
        buffers[i].len -= part;
        bytes -= part;
    }
    // } 02.3
}

/* What the socket takes goes out here and now, without a visit to the loop. The rest is a request's: its
 * `data` is the parcel, which is `busy` until on_written. However it goes, record() is told once: 0 while
 * the rest is on its way. */
static void write_buffers(struct link *link, struct parcel *parcel, uv_buf_t *buffers,
                          unsigned count)
{
    // task 02.3 {
    size_t total_bytes = 0;
    for (unsigned i = 0; i < count; i++)
        total_bytes += buffers[i].len;
    int taken = uv_try_write(&link->stream.uv, buffers, count);
    int error = taken < 0 && taken != UV_EAGAIN ? taken : 0;
    if (!error && (taken < 0 || (size_t)taken < total_bytes)) {
        advance(buffers, count, taken < 0 ? 0 : (size_t)taken);
        parcel->request.data = parcel;
        error = uv_write(&parcel->request, &link->stream.uv, buffers, count, on_written);
        parcel->busy = error == 0;
    }
    record(link, parcel, error);
    // } 02.3
}

/* buffers[0] is for the stamp of a slowed link; the last may be empty. */
static void write_three(struct link *link, struct parcel *parcel, uv_buf_t buffers[3])
{
    unsigned count = buffers[2].len > 0 ? 2 : 1;
    if (!link->line) {
        write_buffers(link, parcel, buffers + 1, count);
        return;
    }
    slow_stamp(link->line, parcel->stamp, buffers[1].len + buffers[2].len);
    buffers[0] = (uv_buf_t){.base = (char *)parcel->stamp, .len = LINK_STAMP_BYTES};
    write_buffers(link, parcel, buffers, count + 1);
}

void link_send(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
               const void *payload)
{
    link_begin(link, parcel, frame, payload, frame->length_bytes);
}

void link_begin(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
                const void *payload, size_t now_bytes)
{
    wire_put_frame(parcel->header, frame);
    uv_buf_t buffers[3] = {{0},
                           {.base = (char *)parcel->header, .len = WIRE_FRAME_BYTES},
                           {.base = (char *)payload, .len = now_bytes}};
    write_three(link, parcel, buffers);
}

void link_send_more(struct link *link, struct parcel *parcel, const void *bytes, size_t size_bytes)
{
    uv_buf_t buffers[3] = {{0}, {.base = (char *)bytes, .len = size_bytes}, {0}};
    write_three(link, parcel, buffers);
}

size_t link_queued_bytes(const struct link *link)
{
    return uv_stream_get_write_queue_size(&link->stream.uv);
}
