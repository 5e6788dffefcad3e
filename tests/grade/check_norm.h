/*
 * check_norm: the checks of task 04.3, the norm over shards. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_NORM_H
#define TESTS_GRADE_CHECK_NORM_H

#include "tests/grade/grade.h"

int norm_whole(struct grade *grade);
int norm_ranges(struct grade *grade);
int norm_counted(struct grade *grade);

#endif
