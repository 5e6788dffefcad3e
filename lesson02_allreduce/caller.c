/* caller: connect, say hello, hear the answer. See the header. */
#include "lesson02_allreduce/caller.h"

static void fail(struct caller *caller, int error)
{
    if (caller->state == CALLER_CLOSING)
        return;
    caller->state = CALLER_FAILED;
    caller->error = error;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct caller *caller = handle->data;
    size_t most = WIRE_REPLY_BYTES;
    if (caller->filled >= WIRE_REPLY_BYTES)
        most += caller->reply.length_bytes;
    *buffer =
        uv_buf_init((char *)caller->answer + caller->filled, (unsigned)(most - caller->filled));
}

static void on_read(uv_stream_t *stream, ssize_t result, const uv_buf_t *buffer)
{
    (void)buffer;
    struct caller *caller = stream->data;
    if (result == 0)
        return;
    if (result < 0) {
        fail(caller, (int)result);
        return;
    }
    caller->filled += (size_t)result;
    if (caller->filled == WIRE_REPLY_BYTES) {
        int error = wire_get_reply(&caller->reply, caller->answer);
        if (error) {
            uv_read_stop(stream);
            fail(caller, error);
            return;
        }
    }
    if (caller->filled >= WIRE_REPLY_BYTES &&
        caller->filled == WIRE_REPLY_BYTES + caller->reply.length_bytes) {
        uv_read_stop(stream);
        caller->state = CALLER_ANSWERED;
    }
}

static void on_connect(uv_connect_t *connect, int status)
{
    struct caller *caller = connect->data;
    if (status)
        fail(caller, status);
    else
        caller->state = CALLER_CONNECTED;
}

/* Begins to connect, from a given address if there is one. */
static int call(struct caller *caller, const struct caller_route *route)
{
    int error = route->from ? stream_bind(&caller->stream, route->from, 0) : 0;
    if (error)
        return error;
    return stream_connect(&caller->stream, &caller->connect, route->to, route->buffer_bytes,
                          on_connect);
}

void caller_call(struct caller *caller, uv_loop_t *loop, const struct caller_route *route)
{
    bool at_once = route->to->sa_family == AF_UNIX;
    caller->state = CALLER_CONNECTING;
    caller->connect.data = caller;
    caller->filled = 0;
    caller->reply.length_bytes = 0;
    int error = stream_init(&caller->stream, loop, route->to->sa_family);
    caller->stream.handle.data = caller;
    if (!error)
        error = call(caller, route);
    if (error)
        fail(caller, error);
    else if (at_once)
        caller->state = CALLER_CONNECTED;
}

/* A join is answered; a link is not. */
static void on_spoken_link(uv_write_t *write, int status)
{
    struct caller *caller = write->data;
    if (status)
        fail(caller, status);
    else
        caller->state = CALLER_ANSWERED;
}

static void on_spoken_join(uv_write_t *write, int status)
{
    if (status)
        fail(write->data, status);
}

void caller_say(struct caller *caller, const struct wire_hello *hello)
{
    uv_stream_t *stream = &caller->stream.uv;
    bool join = hello->purpose == WIRE_JOIN;
    wire_put_hello(caller->hello, hello);
    uv_buf_t buffer = uv_buf_init((char *)caller->hello, WIRE_HELLO_BYTES);
    caller->state = CALLER_SPEAKING;
    caller->write.data = caller;
    int error =
        uv_write(&caller->write, stream, &buffer, 1, join ? on_spoken_join : on_spoken_link);
    if (!error && join)
        error = uv_read_start(stream, on_alloc, on_read);
    if (error)
        fail(caller, error);
}

int caller_take_socket(struct caller *caller)
{
    int copy = stream_copy_socket(&caller->stream);
    caller_hang_up(caller);
    return copy;
}

static void on_closed(uv_handle_t *handle)
{
    struct caller *caller = handle->data;
    caller->state = CALLER_RESTING;
}

void caller_hang_up(struct caller *caller)
{
    if (caller->state == CALLER_RESTING || caller->state == CALLER_CLOSING)
        return;
    caller->state = CALLER_CLOSING;
    uv_close(&caller->stream.handle, on_closed);
}
