/* rank_path: the file each rank writes when all are given one name. See the header. */
#include "common/rank_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISCHR(status.st_mode);
}

int rank_path(char path[RANK_PATH_BYTES], const char *given, int rank, int world)
{
    if (strlen(given) >= RANK_PATH_BYTES)
        return -ENAMETOOLONG;
    const char *slash = strrchr(given, '/'), *name = slash ? slash + 1 : given;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - given) : strlen(given);
    int length = world > 1 && !is_device(given) ? snprintf(path, RANK_PATH_BYTES, "%.*s.rank-%d%s",
                                                           (int)stem, given, rank, given + stem)
                                                : snprintf(path, RANK_PATH_BYTES, "%s", given);
    return length < RANK_PATH_BYTES ? 0 : -ENAMETOOLONG;
}
