/*
 * check_worker: the checks of task 03.3, the communication thread. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_WORKER_H
#define TESTS_GRADE_CHECK_WORKER_H

#include "tests/grade/grade.h"

enum { WORKER_LIMIT_SECONDS = 10 }; // of those that a wrong worker lets wait for ever

int worker_in_order(struct grade *grade);
int worker_begins(struct grade *grade);
int worker_errors(struct grade *grade);
int worker_sleeps(struct grade *grade);

#endif
