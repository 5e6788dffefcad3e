/*
 * scratch: a private folder for the length of one call, for readers that want a path.
 *
 * Without Check, unlike tests/folder.h: libFuzzer's programs have no Check to report to.
 */
#ifndef TESTS_FUZZ_SCRATCH_H
#define TESTS_FUZZ_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_FILES_MOST = 2, SCRATCH_PATH_BYTES = 512 };

struct scratch {
    char path[256];
    const char *names[SCRATCH_FILES_MOST]; // the callers'
    size_t count;
};

/* A fresh folder under $TMPDIR or /tmp. Where the machine has no room for it, nothing can be
 * learned: the process ends. */
void scratch_open(struct scratch *scratch);

/* The path of a file that is not there yet; closing removes it. `name` stays the caller's; at most
 * SCRATCH_FILES_MOST. */
void scratch_place(struct scratch *scratch, const char *name, char path[SCRATCH_PATH_BYTES]);

/* The same with a file of these bytes. Ends the process as above. */
void scratch_write(struct scratch *scratch, const char *name, const void *data, size_t size,
                   char path[SCRATCH_PATH_BYTES]);

/* Removes the files, and the folder when nothing else is in it. 0, or -1: something was left. */
int scratch_close(struct scratch *scratch);

#endif
