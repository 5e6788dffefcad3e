/* launch_port: binds and listens. See the header. */
#include "common/launch_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static int listen_at(int fd, struct sockaddr_in *where)
{
    int yes = 1;
    socklen_t size = sizeof *where;
    /* A port whose last connections are still closing may be used again at once; one that somebody
     * listens on may not, which bind says, or else listen. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || bind(fd, (struct sockaddr *)where, size) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)where, &size) < 0)
        return -errno;
    return 0;
}

int launch_port_listen(const char *address, int *port, struct fail *fail)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    inet_pton(AF_INET, address, &where.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int error = fd < 0 ? -errno : listen_at(fd, &where);
    if (error < 0 && fd >= 0)
        close(fd);
    if (error == -EADDRINUSE)
        return fail_set(fail, error,
                        "port %d of %s is taken by another program: choose another --master-port, "
                        "or leave it out",
                        *port, address);
    if (error == -EADDRNOTAVAIL)
        return fail_set(fail, error,
                        "rank 0 must listen on this machine, and %s is no address of it: "
                        "--master-addr names node 0, and every other node needs its own "
                        "--node-rank, from 1",
                        address);
    if (error < 0)
        return fail_set(fail, error, "cannot listen on %s port %d: %s", address, *port,
                        strerror(-error));
    *port = ntohs(where.sin_port);
    return fd;
}
