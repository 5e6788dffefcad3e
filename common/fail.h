/*
 * fail: the one sentence that tells a user what went wrong.
 *
 * Library code never prints and never exits. It returns 0, or a negative error that
 * uv_strerror() can name (-EINVAL, -EIO, ...), and leaves the sentence here: what happened,
 * where (rank, file, line, field), what was expected and found, and what to try.
 *
 * The first failure wins: what follows it is a consequence, and is not recorded.
 */
#ifndef COMMON_FAIL_H
#define COMMON_FAIL_H

#include <errno.h>

/* FAIL_ELSEWHERE, a code: it is another rank that failed, and that one says why. */
enum { FAIL_TEXT_BYTES = 1024, FAIL_ELSEWHERE = -EOWNERDEAD };

struct fail {
    int code; // 0 while all is well, else a negative errno
    char text[FAIL_TEXT_BYTES];
};

/* Records the sentence unless one is there already: one line, with '?' for each control byte, for
 * it may quote what a file or a peer says. Returns the recorded code, so that a caller writes
 * `return fail_set(fail, -EINVAL, "...")`. `code` must be negative. */
__attribute__((format(printf, 3, 4))) int fail_set(struct fail *fail, int code, const char *format,
                                                   ...);

#endif
