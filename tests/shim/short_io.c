/*
 * short_io: a library for LD_PRELOAD that makes sockets as awkward as the manual allows.
 *
 *     program -> libuv -> [ read, sendmsg, epoll_wait, ... ] -> C library
 *                          one call in SHORT_IO_ONE_IN: fewer bytes than asked, EAGAIN, or EINTR
 *
 * What it does is drawn from a generator seeded by SHORT_IO_SEED and RANK. Nothing is lost or
 * changed: a program that heeds what each call returns computes the same. Only sockets are meddled
 * with, and epoll, which may report fewer events or be interrupted. At exit, one line with how often
 * it acted goes to the file that SHORT_IO_COUNTS names, RANK appended.
 */
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): glibc asks for it
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BUFFERS_MOST = 64, PATH_BYTES = 512 };

enum whim { AS_IT_IS, SHORT, AGAIN, INTERRUPTED, WHIMS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held for everything below
static uint64_t state, one_in;
static unsigned long acted[WHIMS];

/* splitmix64 */
static uint64_t draw(void)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static const char *rank_text(void)
{
    const char *rank = getenv("RANK");
    return rank ? rank : "";
}

__attribute__((constructor)) static void begin(void)
{
    const char *seed = getenv("SHORT_IO_SEED"), *rate = getenv("SHORT_IO_ONE_IN");
    state = (seed ? strtoull(seed, NULL, 10) : 1) * 1000 + strtoull(rank_text(), NULL, 10);
    one_in = rate ? strtoull(rate, NULL, 10) : 3;
}

__attribute__((destructor)) static void end(void)
{
    char path[PATH_BYTES];
    const char *counts = getenv("SHORT_IO_COUNTS");
    if (!counts || !*rank_text())
        return;
    snprintf(path, sizeof path, "%s%s", counts, rank_text());
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "short %lu again %lu interrupted %lu\n", acted[SHORT], acted[AGAIN],
            acted[INTERRUPTED]);
    fclose(file);
}

static int is_socket(int fd)
{
    struct stat what;
    int kept = errno, is = fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode);
    errno = kept;
    return is;
}

/* What to do with a call that asks for so many bytes (or events), and how many to pass on. It meets
 * no whim before `least`. */
static enum whim choose(size_t asked, enum whim least, size_t *bytes)
{
    pthread_mutex_lock(&lock);
    uint64_t number = draw();
    enum whim whim = number % one_in ? AS_IT_IS : (enum whim)(1 + (number >> 8) % (WHIMS - 1));
    if (whim < least || (whim == SHORT && asked < 2))
        whim = AS_IT_IS;
    /* Often a few bytes, as often a good part: both ends of what a full buffer leaves. */
    size_t range = number >> 63 && asked > 64 ? 64 : asked;
    *bytes = whim == SHORT ? 1 + (size_t)(draw() % (range - (range == asked))) : asked;
    acted[whim]++;
    pthread_mutex_unlock(&lock);
    return whim;
}

/* -1 with errno when the call is to fail, else 0. */
static int refuse(enum whim whim)
{
    if (whim != AGAIN && whim != INTERRUPTED)
        return 0;
    errno = whim == AGAIN ? EAGAIN : EINTR;
    return -1;
}

/* Sets *function to the one of this name behind us, as POSIX says dlsym is to be used. */
static void behind(const char *name, void *function)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

static size_t total(const struct iovec *buffers, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += buffers[i].iov_len;
    return bytes;
}

/* Copies as many buffers as `bytes` needs, the last one cut. Returns how many. */
static size_t cut(struct iovec *out, const struct iovec *in, size_t count, size_t bytes)
{
    size_t used = 0;
    while (used < count && used < BUFFERS_MOST && bytes > 0) {
        out[used] = in[used];
        if (out[used].iov_len > bytes)
            out[used].iov_len = bytes;
        bytes -= out[used].iov_len;
        used++;
    }
    return used;
}

/* --- bytes ----------------------------------------------------------------------------------- */

ssize_t read(int fd, void *memory, size_t bytes)
{
    ssize_t (*next)(int, void *, size_t);
    behind("read", &next);
    if (!is_socket(fd))
        return next(fd, memory, bytes);
    enum whim whim = choose(bytes, AS_IT_IS, &bytes);
    return refuse(whim) ? -1 : next(fd, memory, bytes);
}

ssize_t write(int fd, const void *memory, size_t bytes)
{
    ssize_t (*next)(int, const void *, size_t);
    behind("write", &next);
    if (!is_socket(fd))
        return next(fd, memory, bytes);
    enum whim whim = choose(bytes, AS_IT_IS, &bytes);
    return refuse(whim) ? -1 : next(fd, memory, bytes);
}

ssize_t recv(int fd, void *memory, size_t bytes, int flags)
{
    ssize_t (*next)(int, void *, size_t, int);
    behind("recv", &next);
    enum whim whim = choose(bytes, AS_IT_IS, &bytes);
    return refuse(whim) ? -1 : next(fd, memory, bytes, flags);
}

ssize_t send(int fd, const void *memory, size_t bytes, int flags)
{
    ssize_t (*next)(int, const void *, size_t, int);
    behind("send", &next);
    enum whim whim = choose(bytes, AS_IT_IS, &bytes);
    return refuse(whim) ? -1 : next(fd, memory, bytes, flags);
}

typedef ssize_t vector_call(int, const struct iovec *, int);

static ssize_t call_vector(const char *name, int fd, const struct iovec *buffers, int count)
{
    vector_call *next;
    behind(name, &next);
    struct iovec fewer[BUFFERS_MOST];
    size_t bytes;
    if (!is_socket(fd) || count < 1)
        return next(fd, buffers, count);
    enum whim whim = choose(total(buffers, (size_t)count), AS_IT_IS, &bytes);
    if (refuse(whim))
        return -1;
    if (whim == AS_IT_IS)
        return next(fd, buffers, count);
    return next(fd, fewer, (int)cut(fewer, buffers, (size_t)count, bytes));
}

ssize_t readv(int fd, const struct iovec *buffers, int count)
{
    return call_vector("readv", fd, buffers, count);
}

ssize_t writev(int fd, const struct iovec *buffers, int count)
{
    return call_vector("writev", fd, buffers, count);
}

typedef ssize_t message_call(int, struct msghdr *, int);

static ssize_t call_message(const char *name, int fd, struct msghdr *message, int flags)
{
    message_call *next;
    behind(name, &next);
    struct iovec fewer[BUFFERS_MOST], *buffers = message->msg_iov;
    size_t bytes, count = message->msg_iovlen;
    enum whim whim = choose(total(buffers, count), AS_IT_IS, &bytes);
    if (refuse(whim))
        return -1;
    if (whim == AS_IT_IS)
        return next(fd, message, flags);
    message->msg_iov = fewer;
    message->msg_iovlen = cut(fewer, buffers, count, bytes);
    ssize_t moved = next(fd, message, flags);
    message->msg_iov = buffers;
    message->msg_iovlen = count;
    return moved;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return call_message("recvmsg", fd, message, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct msghdr copy = *message;
    return call_message("sendmsg", fd, &copy, flags);
}

/* --- events ---------------------------------------------------------------------------------- */

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
    int (*next)(int, struct epoll_event *, int, int);
    behind("epoll_wait", &next);
    size_t fewer;
    enum whim whim = choose((size_t)most, SHORT, &fewer);
    if (whim == INTERRUPTED)
        return refuse(whim);
    return next(fd, events, (int)fewer, timeout);
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
    int (*next)(int, struct epoll_event *, int, int, const sigset_t *);
    behind("epoll_pwait", &next);
    size_t fewer;
    enum whim whim = choose((size_t)most, SHORT, &fewer);
    if (whim == INTERRUPTED)
        return refuse(whim);
    return next(fd, events, (int)fewer, timeout, mask);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    int (*next)(int, struct sockaddr *, socklen_t *, int);
    behind("accept4", &next);
    size_t bytes;
    enum whim whim = choose(1, AGAIN, &bytes);
    return refuse(whim) ? -1 : next(fd, address, length, flags);
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t);
    behind("connect", &next);
    size_t bytes;
    enum whim whim = choose(1, INTERRUPTED, &bytes);
    return refuse(whim) ? -1 : next(fd, address, length);
}
