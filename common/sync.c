/* sync: a folder's names on the disk. See the header. */
#include "common/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sync_folder(const char *folder)
{
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
    if (handle < 0 || (fsync(handle) && errno != EINVAL))
        error = -errno;
    if (handle >= 0)
        close(handle);
    return error;
}
