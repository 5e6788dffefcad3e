/*
 * check_window: the checks of task 03.4, accumulation. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_WINDOW_H
#define TESTS_GRADE_CHECK_WINDOW_H

#include "tests/grade/grade.h"

int window_weight(struct grade *grade);
int window_short(struct grade *grade);
int window_final(struct grade *grade);
int window_calls(struct grade *grade);

#endif
