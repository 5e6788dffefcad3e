/*
 * shelf: a folder of saved updates, each a folder that is there as a whole or not at all.
 *
 *     DIR/update-00000100/             rank-0.safetensors ... manifest.json
 *     DIR/update-00000200.tmp-4711/    being written by process 4711, or left by it
 *
 * A save is made aside and becomes visible by one rename; only then are older ones removed, each after a
 * rename back to a name aside. So whenever a writer is killed, what has a plain name is whole. What dead
 * writers left aside (their number is no process of this machine) the next one sweeps away. Two runs must not
 * save into one folder at the same time.
 *
 * An update that is saved again (a run that was begun anew) moves the one that is there to .replaced;
 * that one counts while there is none of the plain name.
 */
#ifndef COMMON_SHELF_H
#define COMMON_SHELF_H

#include "common/fail.h"

#include <stddef.h>

enum { SHELF_PATH_BYTES = 4096 };

/* The file whose presence says that an update's folder is complete. */
extern const char SHELF_MANIFEST[];

/* Where process `writer` writes the files of an update. */
void shelf_aside(char path[SHELF_PATH_BYTES], const char *directory, size_t update, long writer);

/* Makes that folder, for this process. 0 or an error. */
int shelf_begin(const char *directory, size_t update, struct fail *fail);

/* All files are written and flushed: makes the folder visible, and removes all but this update and the
 * keep - 1 before it. What cannot be removed stays. Updates behind it belong to a run that was given up for
 * this one; they are removed too. 0 or an error. */
int shelf_publish(const char *directory, size_t update, size_t keep, struct fail *fail);

/* Removes what was begun. */
void shelf_abandon(const char *directory, size_t update);

/* The folder of the last complete update in `directory`, or `directory` itself if that is one. 0;
 * -ENOENT, and `fail` untouched: there is none; or an error: something is there that cannot be looked at. */
int shelf_latest(char path[SHELF_PATH_BYTES], const char *directory, struct fail *fail);

#endif
