/* shelf_list: which updates a shelf holds, and which of them is to be loaded. */
#include "common/shelf_list.h"
#include "common/shelf.h"
#include "common/whole.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 64, ROOM = 16 };

const char SHELF_MANIFEST[] = "manifest.json";

/* Is it a name this module gives to a complete update? */
static bool read_name(const char *entry, size_t *update)
{
    char digits[NAME_BYTES], plain[NAME_BYTES], replaced[NAME_BYTES + 16];
    uint64_t number;
    if (strncmp(entry, "update-", 7) != 0 || strlen(entry) >= NAME_BYTES)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(entry + 7, "."), entry + 7);
    if (!whole_read(digits, &number))
        return false;
    snprintf(plain, sizeof plain, "update-%08zu", (size_t)number);
    snprintf(replaced, sizeof replaced, "%s.replaced", plain);
    *update = (size_t)number;
    return strcmp(entry, plain) == 0 || strcmp(entry, replaced) == 0;
}

static int add(struct shelf_list *list, size_t update)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->updates[i] == update)
            return 0;
    if (list->count % ROOM == 0) {
        size_t *updates = realloc(list->updates, (list->count + ROOM) * sizeof *updates);
        if (!updates)
            return -ENOMEM;
        list->updates = updates;
    }
    list->updates[list->count++] = update;
    return 0;
}

static int ascending(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

int shelf_list_read(struct shelf_list *list, const char *directory)
{
    size_t update;
    int error = 0;
    *list = (struct shelf_list){0};
    DIR *open = opendir(directory);
    if (!open)
        return -errno;
    for (struct dirent *entry; !error && (entry = readdir(open));)
        if (read_name(entry->d_name, &update))
            error = add(list, update);
    closedir(open);
    if (error)
        shelf_list_release(list);
    else if (list->count > 0)
        qsort(list->updates, list->count, sizeof *list->updates, ascending);
    return error;
}

void shelf_list_release(struct shelf_list *list)
{
    free(list->updates);
    *list = (struct shelf_list){0};
}

/* Of a link it may be the system's word for "none", which is not what is meant. */
static int cannot_look(const char *path, int error, struct fail *fail)
{
    return fail_set(fail, error == -ENOENT ? -EIO : error, "cannot look at %s: %s", path,
                    strerror(-error));
}

/* 0: complete. -ENOENT: half of it, or nothing; else `fail` tells. A link that leads nowhere is something,
 * a disk that is not mounted for instance. */
static int look_at(const char *path, struct fail *fail)
{
    char manifest[SHELF_PATH_BYTES + 32];
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? -ENOENT : cannot_look(path, -errno, fail);
    if (stat(path, &status) != 0)
        return cannot_look(path, -errno, fail);
    snprintf(manifest, sizeof manifest, "%s/%s", path, SHELF_MANIFEST);
    if (lstat(manifest, &status) == 0)
        return 0;
    return errno == ENOENT || errno == ENOTDIR ? -ENOENT : cannot_look(manifest, -errno, fail);
}

int shelf_latest(char path[SHELF_PATH_BYTES], const char *directory, struct fail *fail)
{
    struct shelf_list list;
    snprintf(path, SHELF_PATH_BYTES, "%s", directory);
    int error = look_at(path, fail);
    if (error != -ENOENT)
        return error;
    error = shelf_list_read(&list, directory);
    if (error)
        return error == -ENOENT ? error : cannot_look(directory, error, fail);
    error = -ENOENT;
    for (size_t i = list.count; i-- > 0 && error == -ENOENT;) {
        snprintf(path, SHELF_PATH_BYTES, "%s/update-%08zu", directory, list.updates[i]);
        error = look_at(path, fail);
        if (error != -ENOENT)
            break;
        snprintf(path, SHELF_PATH_BYTES, "%s/update-%08zu.replaced", directory, list.updates[i]);
        error = look_at(path, fail);
    }
    shelf_list_release(&list);
    return error;
}
