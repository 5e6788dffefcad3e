/*
 * check_overlap: the checks of task 03.3 that need all of lesson 3: do buckets travel while backward computes?
 * Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_OVERLAP_H
#define TESTS_GRADE_CHECK_OVERLAP_H

#include "tests/grade/grade.h"

int overlap_early(struct grade *grade);
int overlap_pays(struct grade *grade);
int overlap_killed(struct grade *grade);

#endif
