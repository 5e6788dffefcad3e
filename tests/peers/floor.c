/*
 * floor: what plain sockets carry between two processes, in both directions at once.
 *
 *   floor tcp|unix [CONNECTIONS]      1: one for both directions; 2 (unless told): one for each
 *
 * An all-reduce of n bytes over 2 ranks moves n bytes in each direction, and adds them up besides.
 * Here nothing is added, and one piece of memory is sent again and again, so that it may stay in
 * the cache. Measured as an all-reduce is: begun together, as long as the slower side takes, the
 * median of 8 calls; then the best of a few sizes of the piece. Prints: bytes, microseconds, and
 * the rate in words.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 64 << 20, WARM_UP = 3, CALLS = 8, PIECE_MOST = 4 << 20 };

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void connect_tcp(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr *name = (struct sockaddr *)&address;
    socklen_t size = sizeof address;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(door, name, size) == 0 && listen(door, 1) == 0, "listen");
    must(getsockname(door, name, &size) == 0, "getsockname");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(ends[0], name, size) == 0, "connect");
    ends[1] = accept(door, NULL, NULL);
    must(ends[1] >= 0 && close(door) == 0, "accept");
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The other side's number, for mine: neither goes on before both have come. */
static double exchange(int out, int in, double mine)
{
    double theirs;
    must(send(out, &mine, sizeof mine, 0) == sizeof mine, "send");
    must(recv(in, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "recv");
    return theirs;
}

/* BYTES out and BYTES in, piece by piece, on the slower side. It sleeps when neither moves. */
static double carry_seconds(int out, int in, char *memory, size_t piece)
{
    size_t to_send = BYTES, to_come = BYTES;
    exchange(out, in, 0);
    double began = now_seconds();
    while (to_send || to_come) {
        size_t most_out = to_send < piece ? to_send : piece;
        size_t most_in = to_come < piece ? to_come : piece;
        ssize_t sent = to_send ? send(out, memory, most_out, MSG_DONTWAIT) : 0;
        ssize_t came = to_come ? recv(in, memory + piece, most_in, MSG_DONTWAIT) : 0;
        must(came != 0 || !to_come, "the other side has gone");
        to_send -= sent > 0 ? (size_t)sent : 0;
        to_come -= came > 0 ? (size_t)came : 0;
        struct pollfd ready[] = {{.fd = to_send ? out : -1, .events = POLLOUT},
                                 {.fd = to_come ? in : -1, .events = POLLIN}};
        if (sent <= 0 && came <= 0)
            must(poll(ready, 2, -1) > 0, "poll");
    }
    double mine = now_seconds() - began, theirs = exchange(out, in, mine);
    return mine > theirs ? mine : theirs;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_seconds(int out, int in, char *memory, size_t piece)
{
    double seconds[CALLS];
    for (int call = -WARM_UP; call < CALLS; call++)
        seconds[call < 0 ? 0 : call] = carry_seconds(out, in, memory, piece);
    qsort(seconds, CALLS, sizeof *seconds, by_value);
    return seconds[CALLS / 2];
}

int main(int argc, char **argv)
{
    int ends[2][2], by_unix = argc > 1 && strcmp(argv[1], "unix") == 0;
    int last = argc > 2 && strcmp(argv[2], "1") == 0 ? 0 : 1; // the connection towards the parent
    for (int i = 0; i <= last; i++) {
        if (by_unix)
            must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == 0, "socketpair");
        else
            connect_tcp(ends[i]);
    }
    char *memory = calloc(2, PIECE_MOST);
    pid_t child = fork();
    must(memory && child >= 0, "fork");
    int out = child ? ends[0][0] : ends[last][1], in = child ? ends[last][0] : ends[0][1];
    double best = 1e9;
    for (size_t piece = 256 << 10; piece <= PIECE_MOST; piece *= 4) {
        double seconds = median_seconds(out, in, memory, piece);
        best = seconds < best ? seconds : best;
    }
    free(memory);
    if (child == 0)
        return 0;
    printf("%d %.1f: %.0f bytes/s in each direction, %s, connections: %d\n", BYTES, 1e6 * best,
           BYTES / best, by_unix ? "unix" : "tcp", last + 1);
    return wait(NULL) == child ? 0 : 1;
}
