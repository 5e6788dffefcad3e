/*
 * deadlock: why receiving must never wait on sending. An experiment, not part of the communicator.
 *
 * Two processes do what looks natural: each sends its n bytes, and then receives the other's. While
 * n fits into the sockets' buffers, send returns, and all is well. Beyond that both wait in send
 * for room that only the other's recv would make: for ever.
 *
 *     0: send(n) ... blocked       1: send(n) ... blocked       nobody is in recv
 *
 * The sizes double until a swap has not ended within a second; then the last step is narrowed down.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

static const double PATIENCE_SECONDS = 1;
enum { SMALLEST = 4096, LARGEST = 1 << 30 };

/* All of it, or false. */
static bool move_all(ssize_t (*move)(int fd, char *bytes, size_t size), int fd, char *bytes,
                     size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = move(fd, bytes + done, size - done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

static ssize_t send_some(int fd, char *bytes, size_t size)
{
    return send(fd, bytes, size, 0);
}

static ssize_t receive_some(int fd, char *bytes, size_t size)
{
    return recv(fd, bytes, size, 0);
}

/* The naive swap, in a child of its own. */
static pid_t swap_in_child(int fd, size_t size)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char *out = calloc(1, size), *in = calloc(1, size);
    bool ok =
        out && in && move_all(send_some, fd, out, size) && move_all(receive_some, fd, in, size);
    _exit(ok ? 0 : 1);
}

/* 1: both came to the end in time; 0: they did not; negative: an error of the system. */
static int swap_ends(size_t size)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    int fds[2], left = 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return -errno;
    pid_t pids[2] = {swap_in_child(fds[0], size), swap_in_child(fds[1], size)};
    double until = clock_seconds() + PATIENCE_SECONDS;
    bool done[2] = {pids[0] < 0, pids[1] < 0};
    while (left > 0 && clock_seconds() < until) {
        left = 0;
        for (int i = 0; i < 2; i++) {
            done[i] = done[i] || waitpid(pids[i], NULL, WNOHANG) == pids[i];
            left += !done[i];
        }
        nanosleep(&moment, NULL);
    }
    for (int i = 0; i < 2; i++) {
        if (!done[i]) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
        close(fds[i]);
    }
    return pids[0] < 0 || pids[1] < 0 ? -EAGAIN : left == 0;
}

static int try_size(size_t size)
{
    int ends = swap_ends(size);
    if (ends >= 0)
        printf("%10zu bytes each way, send first, then receive: %s\n", size,
               ends ? "done" : "DEADLOCK: both still wait in send");
    fflush(stdout);
    return ends;
}

int main(void)
{
    size_t good = 0, bad = SMALLEST;
    int ends = try_size(bad);
    while (ends > 0 && bad < LARGEST) {
        good = bad;
        bad *= 2;
        ends = try_size(bad);
    }
    while (ends >= 0 && bad - good > SMALLEST && bad < LARGEST) {
        size_t middle = good + (bad - good) / 2 / SMALLEST * SMALLEST;
        ends = try_size(middle);
        *(ends > 0 ? &good : &bad) = middle;
    }
    if (ends < 0) {
        fprintf(stderr, "deadlock: cannot make two processes and a socket pair\n");
        return 1;
    }
    printf("It starts between %zu and %zu bytes. The ring has no such size: see comm.h.\n", good,
           bad);
    return 0;
}
