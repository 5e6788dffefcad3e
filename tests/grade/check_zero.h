/*
 * check_zero: the checks of task 04.2, the sharded step of stage 1. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_ZERO_H
#define TESTS_GRADE_CHECK_ZERO_H

#include "tests/grade/grade.h"

int zero_sums(struct grade *grade);
int zero_shares(struct grade *grade);
int zero_updates(struct grade *grade);
int zero_bytes(struct grade *grade);
int zero_state(struct grade *grade);

#endif
