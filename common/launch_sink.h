/*
 * launch_sink: the launcher's own standard output or error, behind a buffer of bounded size.
 *
 * When the reader is slow (a pager, a slow terminal), the buffer fills, the ranks' pipes are no
 * longer read, and the ranks wait in their writes: no memory grows, no line is lost, and signals
 * are still answered, because a write is made only when there is room for it.
 *
 * The descriptor stays blocking: that flag belongs to everybody who shares the terminal. At most
 * PIPE_BUF bytes are written at a time, which a pipe that reports room takes without blocking.
 */
#ifndef COMMON_LAUNCH_SINK_H
#define COMMON_LAUNCH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { LAUNCH_SINK_BYTES = 256 * 1024 };

struct launch_sink {
    int fd;
    bool waits; // it can be asked for room (a pipe, a terminal); a file always has some
    uv_poll_t poll;
    char *bytes; // (LAUNCH_SINK_BYTES), of which begin..end are not yet written
    size_t begin, end;
    bool busy; // bytes were written since this was last cleared
    int error; // of the first write that failed; what follows is dropped
    void (*on_room)(struct launch_sink *sink); // all is written, or there was an error
    void *owner;
};

/* 0, or a negative errno. The owner sets on_room and owner beforehand. */
int launch_sink_init(struct launch_sink *sink, uv_loop_t *loop, int fd);

/* Bytes it takes now. After an error it takes, and drops, everything. */
size_t launch_sink_room(const struct launch_sink *sink);

/* At most launch_sink_room() bytes. */
void launch_sink_add(struct launch_sink *sink, const char *bytes, size_t count);

bool launch_sink_empty(const struct launch_sink *sink);

/* Drops what is not written. Its handle is closed with the loop's. */
void launch_sink_release(struct launch_sink *sink);

#endif
