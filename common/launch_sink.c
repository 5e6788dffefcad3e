/* launch_sink: writes as much as fits, when it fits. See the header. */
#include "common/launch_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_some(struct launch_sink *sink, size_t most)
{
    size_t count = sink->end - sink->begin;
    ssize_t written = write(sink->fd, sink->bytes + sink->begin, count < most ? count : most);
    sink->busy = true;
    if (written >= 0)
        sink->begin += (size_t)written;
    else if (errno != EINTR && errno != EAGAIN)
        sink->error = -errno;
    if (sink->error != 0 || sink->begin == sink->end)
        sink->begin = sink->end = 0;
}

/* libuv reports a reader that has left as an error and stops asking: the write then says which. */
static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct launch_sink *sink = poll->data;
    (void)events;
    write_some(sink, PIPE_BUF);
    if (launch_sink_empty(sink)) {
        uv_poll_stop(poll);
        sink->on_room(sink);
    } else if (status < 0) {
        uv_poll_start(poll, UV_WRITABLE, on_writable);
    }
}

int launch_sink_init(struct launch_sink *sink, uv_loop_t *loop, int fd)
{
    sink->fd = fd;
    sink->bytes = malloc(LAUNCH_SINK_BYTES);
    if (!sink->bytes)
        return -ENOMEM;
    int flags = fcntl(fd, F_GETFL);
    sink->waits = flags != -1 && uv_poll_init(loop, &sink->poll, fd) == 0;
    sink->poll.data = sink;
    if (sink->waits)
        fcntl(fd, F_SETFL, flags); // uv_poll_init made it non-blocking
    return 0;
}

size_t launch_sink_room(const struct launch_sink *sink)
{
    return LAUNCH_SINK_BYTES - sink->end;
}

void launch_sink_add(struct launch_sink *sink, const char *bytes, size_t count)
{
    if (sink->error != 0)
        return;
    memcpy(sink->bytes + sink->end, bytes, count);
    sink->end += count;
    if (sink->waits && !uv_is_active((uv_handle_t *)&sink->poll))
        uv_poll_start(&sink->poll, UV_WRITABLE, on_writable);
    while (!sink->waits && !launch_sink_empty(sink))
        write_some(sink, SIZE_MAX);
}

bool launch_sink_empty(const struct launch_sink *sink)
{
    return sink->begin == sink->end;
}

void launch_sink_release(struct launch_sink *sink)
{
    free(sink->bytes);
    sink->bytes = NULL;
    sink->begin = sink->end = 0;
}
