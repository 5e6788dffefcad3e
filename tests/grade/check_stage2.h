/*
 * check_stage2: the checks of task 04.4, gradients that live only until their owner has the sum. Each is a function
 * of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_STAGE2_H
#define TESTS_GRADE_CHECK_STAGE2_H

#include "tests/grade/grade.h"

int stage2_sums(struct grade *grade);
int stage2_windows(struct grade *grade);
int stage2_kept(struct grade *grade);
int stage2_released(struct grade *grade);
int stage2_early(struct grade *grade);
int stage2_bytes(struct grade *grade);

#endif
