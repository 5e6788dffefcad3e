/*
 * statefile: room on a disk for numbers that are not kept in memory.
 *
 * The file has no name: it is made in DIR and unlinked at once. So no run can meet another's file,
 * in the same DIR or left behind, and whatever ends a run, the system frees the room. `ls DIR`
 * shows nothing; `df DIR` does, and so does `ls -l /proc/PID/fd`.
 *
 * It is never flushed, for nobody reads it after the run: what outlives a run is a checkpoint.
 */
#ifndef LESSON04_STATEFILE_H
#define LESSON04_STATEFILE_H

#include "common/fail.h"

#include <stdbool.h>
#include <stddef.h>

struct statefile {
    bool open;
    int file;
    const char *directory; // the caller's
    int rank;
};

/* Makes DIR, if it is not there, and in it an empty file. 0, or a negative error that
 * names DIR and what is wrong with it. */
int statefile_open(struct statefile *file, const char *directory, int rank, struct fail *fail);
void statefile_close(struct statefile *file); // accepts a zeroed one

/* All of it, or a negative error that names DIR, rank and place: what the system said, or -EIO where the
 * file ends before. Several threads may call at once. */
int statefile_read(const struct statefile *file, size_t at_bytes, void *values, size_t size_bytes,
                   struct fail *fail);
int statefile_write(const struct statefile *file, size_t at_bytes, const void *values,
                    size_t size_bytes, struct fail *fail);

#endif
