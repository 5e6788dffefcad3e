/* aside: the name of a file that is written beside the one it will replace. See the header. */
#include "common/aside.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MARK[] = ".tmp-";

/* The process a file aside belongs to, or 0: `entry` is no such file of `name`. */
static pid_t writer_of(const char *entry, const char *name)
{
    size_t length = strlen(name), mark = sizeof MARK - 1;
    if (strncmp(entry, name, length) != 0 || strncmp(entry + length, MARK, mark) != 0)
        return 0;
    const char *digits = entry + length + mark;
    char *end;
    long pid = strtol(digits, &end, 10);
    return *digits >= '1' && *digits <= '9' && *end == '\0' ? (pid_t)pid : 0;
}

static void sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *directory = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        pid_t pid = writer_of(entry->d_name, name);
        if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
    free(folder);
}

char *aside_name(const char *path)
{
    size_t room = strlen(path) + sizeof MARK + 24; // and a process id
    char *aside = malloc(room);
    if (!aside)
        return NULL;
    sweep(path);
    snprintf(aside, room, "%s%s%ld", path, MARK, (long)getpid());
    return aside;
}
