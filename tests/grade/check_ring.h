/*
 * check_ring: the checks of lesson 2's ring (tasks 02.4 to 02.6). Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_RING_H
#define TESTS_GRADE_CHECK_RING_H

#include "tests/grade/grade.h"

int scatter_sums(struct grade *grade);
int scatter_counted(struct grade *grade);

#endif
