/*
 * side_by_side: several suites at the same time, a process each. What one prints appears whole, when
 * it has ended: no line of two suites is mixed.
 *
 * Suites may run beside each other because each test makes folders of its own, listens where the
 * system gives it a port, and asserts nothing about how fast it is. Those of the upper floors start
 * more processes and take longer: they begin first, so that no long one is left over at the end.
 */
#ifndef TESTS_SIDE_BY_SIDE_H
#define TESTS_SIDE_BY_SIDE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct side {
    const char *name;
    Suite *(*make)(void);
    pid_t pid; // 0: not begun, or over
    FILE *output;
    bool failed;
};

/* Runs `count` suites, `jobs` at a time, and says at the end which have failed. 0 when none has;
 * 128 + signal after SIGINT, SIGTERM or SIGHUP, when every suite was told to stop and has. */
int side_by_side(struct side *sides, size_t count, size_t jobs);

#endif
