/*
 * unbuilt: files of a hand-in that do not compile. Each costs its own tasks; all others are graded beside this tree's
 * file in its place.
 */
#ifndef TESTS_GRADE_UNBUILT_H
#define TESTS_GRADE_UNBUILT_H

#include "tests/grade/runner.h"

enum { UNBUILT_MOST = 32 };

struct unbuilt {
    const char *files
        [UNBUILT_MOST]; // "lesson02_allreduce/ring.c=said": what the compiler said is in the file said
    size_t count;
};

/* Whether the check's task lives in such a file: then it is lost, with the compiler's first complaint. */
bool unbuilt_judge(const struct unbuilt *unbuilt, const struct check *check,
                   struct outcome *outcome);

#endif
