/*
 * check_stage3: the checks of task 04.5, parameters that live only as slices. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_STAGE3_H
#define TESTS_GRADE_CHECK_STAGE3_H

#include "tests/grade/grade.h"

int stage3_values(struct grade *grade);
int stage3_here(struct grade *grade);
int stage3_updates(struct grade *grade);
int stage3_kept(struct grade *grade);
int stage3_bytes(struct grade *grade);
int stage3_killed(struct grade *grade);

#endif
