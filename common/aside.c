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

bool aside_left(const char *entry, size_t length)
{
    if (strlen(entry) < length || strncmp(entry + length, MARK, sizeof MARK - 1) != 0)
        return false;
    const char *digits = entry + length + sizeof MARK - 1;
    char *end;
    long pid = strtol(digits, &end, 10);
    bool names = *digits >= '1' && *digits <= '9' && *end == '\0';
    return names && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *directory = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        size_t length = strlen(name);
        if (strncmp(entry->d_name, name, length) == 0 && aside_left(entry->d_name, length))
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
