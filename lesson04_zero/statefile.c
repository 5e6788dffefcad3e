/* statefile: room on a disk for numbers that are not kept in memory. See the header. */
#include "lesson04_zero/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* A call that a signal cut short is made again. */
static bool interrupted(ssize_t moved)
{
    return moved < 0 && errno == EINTR;
}

int statefile_read(const struct statefile *file, size_t at_bytes, void *values, size_t size_bytes,
                   struct fail *fail)
{
    char *to = values;
    for (size_t done = 0; done < size_bytes;) {
        ssize_t moved = pread(file->file, to + done, size_bytes - done, (off_t)(at_bytes + done));
        if (interrupted(moved))
            continue;
        if (moved < 0)
            return fail_set(fail, -errno,
                            "--offload: cannot read byte %zu of rank %d's state in %s: %s",
                            at_bytes + done, file->rank, file->directory, strerror(errno));
        if (moved == 0)
            return fail_set(fail, -EIO,
                            "--offload: rank %d's state in %s ends at byte %zu: something has "
                            "cut it off",
                            file->rank, file->directory, at_bytes + done);
        done += (size_t)moved;
    }
    return 0;
}

int statefile_write(const struct statefile *file, size_t at_bytes, const void *values,
                    size_t size_bytes, struct fail *fail)
{
    const char *from = values;
    for (size_t done = 0; done < size_bytes;) {
        ssize_t moved =
            pwrite(file->file, from + done, size_bytes - done, (off_t)(at_bytes + done));
        if (interrupted(moved))
            continue;
        if (moved <= 0) // 0 is no error of its own; asked again, the system might say it for ever
            return fail_set(fail, moved < 0 ? -errno : -EIO,
                            "--offload: cannot write byte %zu of rank %d's state in %s: %s",
                            at_bytes + done, file->rank, file->directory,
                            strerror(moved < 0 ? errno : EIO));
        done += (size_t)moved;
    }
    return 0;
}

static int make(struct statefile *file, struct fail *fail)
{
    char path[PATH_BYTES];
    const char *directory = file->directory;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return fail_set(fail, -errno, "--offload: cannot make the directory %s: %s", directory,
                        strerror(errno));
    errno = ENAMETOOLONG;
    int length = snprintf(path, sizeof path, "%s/rank-%d.state-XXXXXX", directory, file->rank);
    file->file = length < PATH_BYTES ? mkstemp(path) : -1;
    if (file->file < 0)
        return fail_set(fail, -errno, "--offload: cannot make a file in %s: %s", directory,
                        strerror(errno));
    file->open = true;
    unlink(path);
    return 0;
}

int statefile_open(struct statefile *file, const char *directory, int rank, struct fail *fail)
{
    *file = (struct statefile){.directory = directory, .rank = rank};
    return make(file, fail);
}

void statefile_close(struct statefile *file)
{
    if (file->open)
        close(file->file);
    *file = (struct statefile){0};
}
