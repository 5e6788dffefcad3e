/* launch_stream: from a rank's pipe to whole, marked lines. See the header. */
#include "common/launch_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line, or part of one that is longer than the buffer (whole is false then). */
struct piece {
    size_t length; // without its end
    size_t taken;  // with it
    bool whole;
};

static void on_room_wanted(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct launch_stream *stream = handle->data;
    (void)suggested;
    buffer->base = stream->bytes + stream->count;
    buffer->len = LAUNCH_STREAM_BYTES - stream->count;
}

static void on_read(uv_stream_t *pipe, ssize_t count, const uv_buf_t *buffer)
{
    struct launch_stream *stream = pipe->data;
    (void)buffer;
    if (count == 0)
        return;
    stream->busy = true;
    if (count > 0)
        stream->count += (size_t)count;
    else
        stream->open = false; // its end, or an error, which ends it as well
    launch_stream_forward(stream);
    stream->on_change(stream);
}

int launch_stream_open(struct launch_stream *stream, uv_loop_t *loop, int fd, int rank)
{
    stream->bytes = malloc(LAUNCH_STREAM_BYTES);
    if (!stream->bytes)
        return -ENOMEM;
    stream->rank = rank;
    snprintf(stream->mark, sizeof stream->mark, "[%d] ", rank);
    int error = uv_pipe_init(loop, &stream->pipe, 0);
    stream->pipe.data = stream;
    if (error == 0)
        error = uv_pipe_open(&stream->pipe, fd);
    if (error == 0)
        error = uv_read_start((uv_stream_t *)&stream->pipe, on_room_wanted, on_read);
    stream->open = error == 0;
    return error;
}

static void log_end(struct launch_log *log)
{
    log->error = -errno;
    fclose(log->file);
    log->file = NULL;
}

static void log_add(struct launch_log *log, const char *line, const struct piece *piece)
{
    if (log->file && (fwrite(line, 1, piece->length, log->file) != piece->length ||
                      (piece->whole && fputc('\n', log->file) == EOF)))
        log_end(log);
}

static void pass_on(struct launch_stream *stream, const char *line, const struct piece *piece)
{
    launch_sink_add(stream->sink, stream->mark, strlen(stream->mark));
    launch_sink_add(stream->sink, line, piece->length);
    launch_sink_add(stream->sink, "\n", 1);
    log_add(stream->log, line, piece);
}

/* What to pass on next, from `begin` on. False: it is still to come. A last line that was never
 * ended is one all the same. */
static bool next_piece(const struct launch_stream *stream, size_t begin, struct piece *piece)
{
    const char *line = stream->bytes + begin;
    size_t left = stream->count - begin;
    const char *end = memchr(line, '\n', left);
    piece->whole = end || !stream->open;
    piece->length = end ? (size_t)(end - line) : left;
    piece->taken = end ? piece->length + 1 : left;
    return end || left == LAUNCH_STREAM_BYTES || (!stream->open && left > 0);
}

static void pause_or_resume(struct launch_stream *stream, bool held)
{
    if (held && !stream->held && stream->open)
        uv_read_stop((uv_stream_t *)&stream->pipe);
    if (!held && stream->held && stream->open)
        uv_read_start((uv_stream_t *)&stream->pipe, on_room_wanted, on_read);
    stream->held = held;
}

static void finish(struct launch_stream *stream)
{
    if (!uv_is_closing((uv_handle_t *)&stream->pipe))
        uv_close((uv_handle_t *)&stream->pipe, NULL);
}

void launch_stream_forward(struct launch_stream *stream)
{
    size_t begin = 0;
    struct piece piece;
    bool held = false;
    while (!held && next_piece(stream, begin, &piece)) {
        held = launch_sink_room(stream->sink) < LAUNCH_MARK_BYTES + piece.length + 1;
        if (!held) {
            pass_on(stream, stream->bytes + begin, &piece);
            begin += piece.taken;
        }
    }
    memmove(stream->bytes, stream->bytes + begin, stream->count - begin);
    stream->count -= begin;
    if (begin > 0 && stream->log->file && fflush(stream->log->file) != 0)
        log_end(stream->log);
    pause_or_resume(stream, held);
    if (launch_stream_ended(stream))
        finish(stream);
}

bool launch_stream_ended(const struct launch_stream *stream)
{
    return !stream->open && stream->count == 0;
}

void launch_stream_close(struct launch_stream *stream)
{
    if (!stream->bytes)
        return;
    stream->open = false;
    launch_stream_forward(stream);
    finish(stream);
    stream->count = 0;
}

void launch_stream_release(struct launch_stream *stream)
{
    free(stream->bytes);
    stream->bytes = NULL;
}
