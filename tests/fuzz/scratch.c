/* scratch: a private folder for the length of one call. See the header. */
#include "tests/fuzz/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void give_up(const char *path)
{
    perror(path);
    abort();
}

void scratch_open(struct scratch *scratch)
{
    const char *root = getenv("TMPDIR");
    scratch->count = 0;
    snprintf(scratch->path, sizeof scratch->path, "%s/scratch-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(scratch->path))
        give_up(scratch->path);
}

static void path_of(const struct scratch *scratch, const char *name, char path[SCRATCH_PATH_BYTES])
{
    snprintf(path, SCRATCH_PATH_BYTES, "%s/%s", scratch->path, name);
}

void scratch_place(struct scratch *scratch, const char *name, char path[SCRATCH_PATH_BYTES])
{
    scratch->names[scratch->count++] = name;
    path_of(scratch, name, path);
}

void scratch_write(struct scratch *scratch, const char *name, const void *data, size_t size,
                   char path[SCRATCH_PATH_BYTES])
{
    scratch_place(scratch, name, path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) < 0)
        give_up(path);
}

int scratch_close(struct scratch *scratch)
{
    char path[SCRATCH_PATH_BYTES];
    for (size_t i = 0; i < scratch->count; i++) {
        path_of(scratch, scratch->names[i], path);
        unlink(path);
    }
    return rmdir(scratch->path);
}
