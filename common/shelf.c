/* shelf: a folder of saved updates: making one, and making it visible. See the header. */
#include "common/shelf.h"
#include "common/aside.h"
#include "common/shelf_list.h"
#include "common/sync.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

static void plain_path(char path[SHELF_PATH_BYTES], const char *directory, size_t update)
{
    snprintf(path, SHELF_PATH_BYTES, "%s/update-%08zu", directory, update);
}

static void replaced_path(char path[SHELF_PATH_BYTES], const char *directory, size_t update)
{
    snprintf(path, SHELF_PATH_BYTES, "%s/update-%08zu.replaced", directory, update);
}

void shelf_aside(char path[SHELF_PATH_BYTES], const char *directory, size_t update, long writer)
{
    snprintf(path, SHELF_PATH_BYTES, "%s/update-%08zu.tmp-%ld", directory, update, writer);
}

/* A folder of files, and it. What is not there is removed already. */
static void remove_folder(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0); // "." and ".." stay: they are no files
    if (directory)
        closedir(directory);
    rmdir(path);
}

/* What writers that are no more have left. */
static void sweep(const char *directory)
{
    char path[SHELF_PATH_BYTES];
    DIR *open = opendir(directory);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        const char *dot = strchr(entry->d_name, '.');
        size_t length = dot ? (size_t)(dot - entry->d_name) : 0;
        if (strncmp(entry->d_name, "update-", 7) != 0 || !aside_left(entry->d_name, length))
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        remove_folder(path);
    }
    if (open)
        closedir(open);
}

int shelf_begin(const char *directory, size_t update, struct fail *fail)
{
    char path[SHELF_PATH_BYTES];
    sweep(directory);
    shelf_aside(path, directory, update, (long)getpid());
    remove_folder(path); // of a process that had this one's number
    if (mkdir(path, 0777) == 0)
        return 0;
    return fail_set(fail, -errno, "cannot make the folder %s: %s", path, strerror(errno));
}

void shelf_abandon(const char *directory, size_t update)
{
    char path[SHELF_PATH_BYTES];
    shelf_aside(path, directory, update, (long)getpid());
    remove_folder(path);
}

/* Nobody ever sees it without some of its files. */
static void retire(const char *directory, const char *path, size_t update)
{
    char aside[SHELF_PATH_BYTES];
    shelf_aside(aside, directory, update, (long)getpid());
    if (rename(path, aside) == 0)
        remove_folder(aside);
}

/* `kept` counts updates up to the one that is new; the list ascends. */
static void retire_others(const char *directory, size_t newest, size_t keep)
{
    char path[SHELF_PATH_BYTES];
    struct shelf_list list;
    size_t before = 0;
    if (shelf_list_read(&list, directory) != 0)
        return;
    for (size_t i = 0; i < list.count; i++)
        before += list.updates[i] < newest;
    for (size_t i = 0; i < list.count; i++) {
        size_t update = list.updates[i];
        plain_path(path, directory, update);
        bool old = update < newest && before >= keep;
        before -= update < newest;
        if (old || update > newest)
            retire(directory, path, update);
        replaced_path(path, directory, update);
        retire(directory, path, update);
    }
    shelf_list_release(&list);
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* The one rename. */
static int put(const char *directory, size_t update, struct fail *fail)
{
    char aside[SHELF_PATH_BYTES], plain[SHELF_PATH_BYTES], replaced[SHELF_PATH_BYTES];
    shelf_aside(aside, directory, update, (long)getpid());
    plain_path(plain, directory, update);
    replaced_path(replaced, directory, update);
    int error = sync_folder(aside);
    if (error)
        return fail_set(fail, error, "cannot sync the folder %s: %s", aside, strerror(-error));
    bool again = is_there(plain);
    if (again)
        remove_folder(replaced);
    if ((again && rename(plain, replaced) != 0) || rename(aside, plain) != 0) {
        fail_set(fail, -errno, "cannot rename %s to %s: %s", aside, plain, strerror(errno));
        if (again)
            rename(replaced, plain);
        return fail->code;
    }
    error = sync_folder(directory);
    return error ? fail_set(fail, error, "%s is written, but its folder cannot be synced: %s",
                            plain, strerror(-error))
                 : 0;
}

int shelf_publish(const char *directory, size_t update, size_t keep, struct fail *fail)
{
    int error = put(directory, update, fail);
    if (!error)
        retire_others(directory, update, keep);
    return error;
}
