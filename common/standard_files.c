/* standard_files: /dev/null, opened the wrong way round. See the header. */
#include "common/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

void standard_files_occupy(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) // closed; those below are not, so open() gives this number
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}
