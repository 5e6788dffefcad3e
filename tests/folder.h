/* folder: a temporary directory of a test, with files written into it, gone afterwards. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct folder {
    char path[256];
};

/* A fresh directory under $TMPDIR or /tmp, which bears this process's number. */
void folder_open(struct folder *folder);

/* Removes it with the files in it. */
void folder_close(struct folder *folder);

/* The same where no test runs, which might fail: false when it cannot be. */
bool folder_try(struct folder *folder);
bool folder_remove(struct folder *folder);

/* All that a process has open, as far as it can: no assertion. */
void folder_close_all(pid_t pid);

/* The path of a file in it; `path` has 512 bytes. Returns path. */
const char *folder_path(const struct folder *folder, const char *name, char path[512]);

/* Writes a file, plain or packed by gzip. Returns path. */
const char *folder_write(const struct folder *folder, const char *name, const void *data,
                         size_t bytes, bool packed, char path[512]);

/* Waits until somebody has made this file in it; fails the test after a minute. */
void folder_await(const struct folder *folder, const char *name);

#endif
