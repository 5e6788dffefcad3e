/*
 * launch_stream: one pipe of one rank (its standard output or error), cut into lines.
 *
 *     rank 2 ---pipe---> | 64 KiB | ---"[2] " line "\n"---> sink     (and ---line---> log)
 *
 * A line is passed on only when it is whole and the sink has room for all of it; until then the
 * pipe is not read. So lines of different ranks never mix, a rank's lines keep their order, and a
 * rank that prints faster than anybody reads is held up, not buffered. A line that is longer than
 * the buffer is passed on in pieces, each marked like a line.
 */
#ifndef COMMON_LAUNCH_STREAM_H
#define COMMON_LAUNCH_STREAM_H

#include "common/launch_sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <uv.h>

enum { LAUNCH_STREAM_BYTES = 64 * 1024, LAUNCH_MARK_BYTES = 16 };

/* One rank's file, which its output and its error share. */
struct launch_log {
    FILE *file; // NULL: none is kept, or no longer
    int error;  // of the write that ended it
};

struct launch_stream {
    uv_pipe_t pipe;
    char *bytes; // (LAUNCH_STREAM_BYTES), of which the first `count` are filled
    size_t count;
    int rank;
    char mark[LAUNCH_MARK_BYTES]; // "[2] "
    bool open;                    // more may come
    bool held;                    // not read: the sink has no room
    bool busy;                    // bytes came since this was last cleared
    struct launch_sink *sink;
    struct launch_log *log;
    void (*on_change)(struct launch_stream *stream); // bytes were passed on, or it has ended
    void *owner;
};

/* Takes over the reading end of a pipe. sink, log, on_change and owner are set beforehand.
 * 0, or a negative errno. */
int launch_stream_open(struct launch_stream *stream, uv_loop_t *loop, int fd, int rank);

/* Passes on what is there; reads on unless the sink is full. */
void launch_stream_forward(struct launch_stream *stream);

/* Nothing is left, and nothing more will come. */
bool launch_stream_ended(const struct launch_stream *stream);

/* Waits for nothing more: passes on what the sink has room for. Accepts a zeroed stream. */
void launch_stream_close(struct launch_stream *stream);

/* Once the loop is closed. Accepts a zeroed stream. */
void launch_stream_release(struct launch_stream *stream);

#endif
