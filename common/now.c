/* now: what a process does at this moment. See the header. */
#include "common/now.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Written first, so that the disk has room for it: to a mapping it could not say that it has not. */
int now_open(struct now *now, const char *path)
{
    char blanks[NOW_BYTES];
    now->at = NULL;
    memset(blanks, ' ', sizeof blanks);
    blanks[NOW_BYTES - 1] = '\n';
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return -errno;
    errno = ENOSPC; // in case only some of it was written
    int error = write(file, blanks, sizeof blanks) == NOW_BYTES ? 0 : -errno;
    void *at =
        error ? MAP_FAILED : mmap(NULL, NOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (!error && at == MAP_FAILED)
        error = -errno;
    close(file);
    now->at = error ? NULL : at;
    return error;
}

/* The first letter last: a text that is half written when the process is killed shows as none. */
void now_write(struct now *now, const char *text)
{
    size_t length = strnlen(text, NOW_BYTES - 1);
    if (!now->at)
        return;
    now->at[0] = ' ';
    atomic_signal_fence(memory_order_seq_cst);
    for (size_t i = 1; i < NOW_BYTES - 1; i++)
        now->at[i] = ' ';
    if (length == 0)
        return;
    memcpy(now->at + 1, text + 1, length - 1);
    atomic_signal_fence(memory_order_seq_cst);
    now->at[0] = text[0];
}

void now_close(struct now *now)
{
    if (now->at)
        munmap(now->at, NOW_BYTES);
    now->at = NULL;
}
