/*
 * aside: the name of a file that is written beside the one it will replace.
 *
 * PATH.tmp-PID, renamed to PATH when it is whole. A process that is killed before leaves its file behind;
 * the next writer of the same PATH removes it, once no process has that number any more.
 */
#ifndef COMMON_ASIDE_H
#define COMMON_ASIDE_H

/* `path`.tmp-PID, for free(); NULL: out of memory. Removes what dead writers of `path` left there. */
char *aside_name(const char *path);

#endif
