/*
 * stream: a libuv stream of either transport, TCP or Unix-domain. Once connected they are the same:
 * bytes in order, both ways. They differ in how they are named, and only this file knows.
 *
 *     TCP     an IP address and a port; port 0 asks the system for a free one
 *     Unix    on Linux a name without a file, "abstract", that vanishes with its socket: five
 *             hexadecimal digits, which the system picks, so that they serve as a port number
 */
#ifndef LESSON02_STREAM_H
#define LESSON02_STREAM_H

#include "lesson02_allreduce/address.h"

#include <uv.h>

union stream {
    uv_handle_t handle;
    uv_stream_t uv;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

/* A handle without a socket, to accept into or to open, connect or bind. 0 or a negative error. */
int stream_init(union stream *stream, uv_loop_t *loop, int family);

/* A handle over a connected socket, which it owns once 0 is returned. Small frames leave at once. */
int stream_adopt(union stream *stream, uv_loop_t *loop, int fd);

/* Binds, so that uv_listen may follow. buffer_bytes: of accepted sockets; 0: the system's. Address
 * AF_UNIX: the system picks the name. The handle has been initialised for the family. */
int stream_bind(union stream *stream, const struct sockaddr *address, int buffer_bytes);
int stream_take_over(union stream *stream, int fd, int buffer_bytes);

/* Begins to connect. A Unix socket is connected when 0 returns; for TCP, `on_connect` is called. */
int stream_connect(union stream *stream, uv_connect_t *connect, const struct sockaddr *address,
                   int buffer_bytes, uv_connect_cb on_connect);

/* Where it is bound, and who is at the other end. */
int stream_own_name(const union stream *stream, struct sockaddr_storage *address);
int stream_peer_name(const union stream *stream, struct sockaddr_storage *address);

/* Its socket, once more: the caller's own, close-on-exec. Negative: an error. */
int stream_copy_socket(const union stream *stream);

#endif
