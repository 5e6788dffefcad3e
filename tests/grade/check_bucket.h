/*
 * check_bucket: the checks of task 03.1, the bucket plan. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_BUCKET_H
#define TESTS_GRADE_CHECK_BUCKET_H

#include "tests/grade/grade.h"

int bucket_tiles(struct grade *grade);
int bucket_caps(struct grade *grade);
int bucket_orders(struct grade *grade);

#endif
