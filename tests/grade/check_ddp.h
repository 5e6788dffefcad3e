/*
 * check_ddp: the checks of task 03.2, gradients that leave as they become ready. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_DDP_H
#define TESTS_GRADE_CHECK_DDP_H

#include "tests/grade/grade.h"

int ddp_turns(struct grade *grade);
int ddp_steps(struct grade *grade);
int ddp_holds(struct grade *grade);
int ddp_sums(struct grade *grade);
int ddp_counted(struct grade *grade);

#endif
