/*
 * stream: libuv streams over TCP and Unix-domain sockets. See the header.
 *
 * libuv knows Unix sockets by path only, and a path would outlive a killed process. So abstract
 * names are bound and connected by the system's own calls, which do not block here, and the socket
 * is handed to libuv.
 */
#include "lesson02_allreduce/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int stream_init(union stream *stream, uv_loop_t *loop, int family)
{
    return family == AF_UNIX ? uv_pipe_init(loop, &stream->pipe, 0)
                             : uv_tcp_init(loop, &stream->tcp);
}

int stream_adopt(union stream *stream, uv_loop_t *loop, int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length))
        return -errno;
    int error = stream_init(stream, loop, address.ss_family);
    if (error || address.ss_family == AF_UNIX)
        return error ? error : uv_pipe_open(&stream->pipe, fd);
    // Or small frames would wait for the acknowledgement of earlier ones, 40 ms and more.
    uv_tcp_nodelay(&stream->tcp, 1);
    return uv_tcp_open(&stream->tcp, fd);
}

/* Before it listens or connects: TCP agrees on its window when it connects, and crawls when the
 * buffer shrinks below that later. */
static void size_buffers(union stream *stream, int bytes)
{
    int send_bytes = bytes, receive_bytes = bytes; // the calls write to them
    if (bytes > 0) {
        uv_send_buffer_size(&stream->handle, &send_bytes);
        uv_recv_buffer_size(&stream->handle, &receive_bytes);
    }
}

/* A socket that libuv does not have yet, or a negative error. */
static int new_socket(int family)
{
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

static int give_socket(union stream *stream, int fd)
{
    int error = uv_pipe_open(&stream->pipe, fd);
    if (error)
        close(fd);
    return error;
}

/* Linux: to bind no more than the family asks for a free abstract name. */
static int bind_unix(union stream *stream)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = new_socket(AF_UNIX);
    if (fd < 0)
        return fd;
    if (bind(fd, (struct sockaddr *)&address, sizeof address.sun_family)) {
        int error = -errno;
        close(fd);
        return error;
    }
    return give_socket(stream, fd);
}

int stream_bind(union stream *stream, const struct sockaddr *address, int buffer_bytes)
{
    int error =
        address->sa_family == AF_UNIX ? bind_unix(stream) : uv_tcp_bind(&stream->tcp, address, 0);
    size_buffers(stream, buffer_bytes);
    return error;
}

int stream_take_over(union stream *stream, int fd, int buffer_bytes)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    int error = uv_tcp_open(&stream->tcp, fd);
    size_buffers(stream, buffer_bytes);
    return error;
}

/* The whole name counts, and it may hold zeros: so its length is told. */
static socklen_t unix_length(void)
{
    return offsetof(struct sockaddr_un, sun_path) + 1 + ADDRESS_UNIX_DIGITS;
}

static int connect_unix(union stream *stream, const struct sockaddr *address, int buffer_bytes)
{
    int fd = new_socket(AF_UNIX);
    if (fd < 0)
        return fd;
    if (buffer_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    }
    int error;
    do
        error = connect(fd, address, unix_length()) ? -errno : 0;
    while (error == -EINTR);
    if (error) { // EAGAIN: its queue of guests is full
        close(fd);
        return error;
    }
    return give_socket(stream, fd);
}

static int connect_tcp(union stream *stream, uv_connect_t *connect, const struct sockaddr *address,
                       int buffer_bytes, uv_connect_cb on_connect)
{
    uv_os_fd_t bound;
    if (uv_fileno(&stream->handle, &bound)) { // libuv would make one too late to size its buffers
        int fd = new_socket(address->sa_family);
        int error = fd < 0 ? fd : uv_tcp_open(&stream->tcp, fd);
        if (error && fd >= 0)
            close(fd);
        if (error)
            return error;
    }
    size_buffers(stream, buffer_bytes);
    return uv_tcp_connect(connect, &stream->tcp, address, on_connect);
}

int stream_connect(union stream *stream, uv_connect_t *connect, const struct sockaddr *address,
                   int buffer_bytes, uv_connect_cb on_connect)
{
    if (address->sa_family != AF_UNIX)
        return connect_tcp(stream, connect, address, buffer_bytes, on_connect);
    return connect_unix(stream, address, buffer_bytes);
}

typedef int name_call(int fd, struct sockaddr *address, socklen_t *length);

static int name_of(const union stream *stream, struct sockaddr_storage *address, name_call *call)
{
    uv_os_fd_t fd;
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_storage){0};
    int error = uv_fileno(&stream->handle, &fd);
    if (error)
        return error;
    return call(fd, (struct sockaddr *)address, &length) ? -errno : 0;
}

int stream_own_name(const union stream *stream, struct sockaddr_storage *address)
{
    return name_of(stream, address, getsockname);
}

int stream_peer_name(const union stream *stream, struct sockaddr_storage *address)
{
    return name_of(stream, address, getpeername);
}

int stream_copy_socket(const union stream *stream)
{
    uv_os_fd_t fd;
    int error = uv_fileno(&stream->handle, &fd);
    if (error)
        return error;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -errno : copy;
}
