/*
 * report: what a grading has come to: lines for a person, a file for Gradescope, a line for Autolab.
 */
#ifndef TESTS_GRADE_REPORT_H
#define TESTS_GRADE_REPORT_H

#include "tests/grade/runner.h"

struct grading {
    int lesson;
    uint64_t seed;
    const char *from;               // whose files, or NULL
    const struct outcome *outcomes; // (count), in the order of the table
    size_t count;
};

/* Of one task, or of all when it is NULL. */
int report_points(const struct grading *grading, const char *task, bool most);

/* A task: its points and time, then each check it has lost, why, and how to run it again. */
void report_task(const struct grading *grading, const char *task);
void report_total(const struct grading *grading);

/* results.json as Gradescope reads it. 0, or -1 with errno. */
int report_gradescope(const struct grading *grading, const char *path);

/* {"scores": {"02.1": 15, ...}}, as Autolab reads it from the last line. */
void report_autolab(const struct grading *grading);

#endif
