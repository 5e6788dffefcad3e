/*
 * aside: the name of a file that is written beside the one it will replace.
 *
 * PATH.tmp-PID, renamed to PATH when it is whole. A process that is killed before leaves its file behind;
 * the next writer of the same PATH removes it, once no process has that number any more.
 */
#ifndef COMMON_ASIDE_H
#define COMMON_ASIDE_H

#include <stdbool.h>
#include <stddef.h>

/* `path`.tmp-PID, for free(); NULL: out of memory. Removes what dead writers of `path` left there. */
char *aside_name(const char *path);

/* Is a folder's `entry` the file aside of something, whose name is its first `length` bytes, left by a
 * process that is no more? */
bool aside_left(const char *entry, size_t length);

#endif
