/*
 * runner: runs a check in a process of its own, and says how it ended.
 *
 * The process leads a group, which is killed when the limit has passed or the check is over: no rank
 * of a check outlives it, nor whoever has left that group (orphans.h).
 */
#ifndef TESTS_GRADE_RUNNER_H
#define TESTS_GRADE_RUNNER_H

#include "tests/grade/grade.h"

enum verdict { VERDICT_PASSED, VERDICT_LOST, VERDICT_UNWRITTEN, VERDICT_UNBUILT };

struct outcome {
    const struct check *check;
    enum verdict verdict;
    double seconds;
    char text[GRADE_TEXT_BYTES]; // why not, one line; "" when it passed
};

void runner_run(const struct check *check, uint64_t seed, struct outcome *outcome);

#endif
