/* folder: a temporary directory of a test. See the header. */
#include "tests/folder.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char *root(void)
{
    const char *given = getenv("TMPDIR");
    return given ? given : "/tmp";
}

bool folder_try(struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "%s/staircase-%d-XXXXXX", root(), (int)getpid());
    return mkdtemp(folder->path) != NULL;
}

void folder_open(struct folder *folder)
{
    ck_assert(folder_try(folder));
}

/* Removes what is in the directory `path` of `parent`, and it. False when something stays. */
static bool remove_tree(int parent, const char *path)
{
    DIR *directory = fdopendir(openat(parent, path, O_RDONLY | O_DIRECTORY));
    bool gone = directory != NULL;
    for (struct dirent *entry = gone ? readdir(directory) : NULL; entry;
         entry = readdir(directory)) {
        const char *name = entry->d_name;
        bool itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!itself && unlinkat(dirfd(directory), name, 0) < 0)
            gone = remove_tree(dirfd(directory), name) && gone;
    }
    if (directory)
        closedir(directory);
    return gone && unlinkat(parent, path, AT_REMOVEDIR) == 0;
}

bool folder_remove(struct folder *folder)
{
    return remove_tree(AT_FDCWD, folder->path);
}

void folder_close(struct folder *folder)
{
    ck_assert(folder_remove(folder));
}

void folder_close_all(pid_t pid)
{
    char prefix[64];
    int length = snprintf(prefix, sizeof prefix, "staircase-%d-", (int)pid);
    DIR *directory = opendir(root());
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry;
         entry = readdir(directory))
        if (strncmp(entry->d_name, prefix, (size_t)length) == 0)
            remove_tree(dirfd(directory), entry->d_name);
    if (directory)
        closedir(directory);
}

const char *folder_path(const struct folder *folder, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", folder->path, name);
    return path;
}

const char *folder_write(const struct folder *folder, const char *name, const void *data,
                         size_t bytes, bool packed, char path[512])
{
    folder_path(folder, name, path);
    gzFile file = gzopen(path, packed ? "wb" : "wbT"); // T: as it is
    ck_assert_ptr_nonnull(file);
    if (bytes > 0)
        ck_assert_int_eq(gzwrite(file, data, (unsigned)bytes), (int)bytes);
    ck_assert_int_eq(gzclose(file), Z_OK);
    return path;
}

void folder_await(const struct folder *folder, const char *name)
{
    char path[512];
    folder_path(folder, name, path);
    for (int i = 0; i < 30000 && access(path, F_OK) != 0; i++)
        usleep(2000);
    ck_assert_msg(access(path, F_OK) == 0, "%s never came", name);
}
