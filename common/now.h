/*
 * now: a line that says what a process does at this moment, in a file, and stays when the process is killed.
 *
 * The file is mapped into memory: to write it takes no system call, and what was written is the system's, whatever
 * becomes of the process. It has NOW_BYTES always: a text, then blanks, and a line's end. No text: nothing is
 * worth telling.
 */
#ifndef COMMON_NOW_H
#define COMMON_NOW_H

enum { NOW_BYTES = 256 };

struct now {
    char *at; // (NOW_BYTES); NULL, as in a zeroed one: off, every call does nothing
};

/* 0 or -errno. */
int now_open(struct now *now, const char *path);
void now_write(struct now *now, const char *text); // what is longer is cut; "": nothing
void now_close(struct now *now);

#endif
