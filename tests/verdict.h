/*
 * verdict: runs a suite, and says of each test whether it passed, failed, or waits for a task that a
 * student has not yet written (unwritten.h).
 *
 *     Running suite(s): ring
 *     33%: Checks: 12, Failures: 0, Errors: 0, To do: 8
 *     (to do) ring: every_rank_gets_the_sum (5 checks): 02.1 02.4
 *
 * Without such tests it prints what Check would.
 */
#ifndef TESTS_VERDICT_H
#define TESTS_VERDICT_H

#include "common/course/tasks.h"

#include <check.h>

struct verdict {
    int checks, failures, errors; // as Check counts; without those that wait
    int todo[TASKS + 1];          // checks that wait for each task, as in `tasks`; then the unnamed
};

/* Runs the suite, and prints what came of it. */
struct verdict verdict_of(const char *name, Suite *suite);

void verdict_add(struct verdict *verdict, const struct verdict *more);

/* The end of a sentence: ", 10 to do: 02.1 (8), 02.4 (2)"; nothing, where nothing is to do. */
void verdict_print_todo(const struct verdict *verdict);

#endif
