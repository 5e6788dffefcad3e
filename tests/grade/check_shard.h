/*
 * check_shard: the checks of task 04.1, who owns what. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_CHECK_SHARD_H
#define TESTS_GRADE_CHECK_SHARD_H

#include "tests/grade/grade.h"

int shard_tiles(struct grade *grade);
int shard_chunks(struct grade *grade);
int shard_packed(struct grade *grade);
int shard_counted(struct grade *grade);

#endif
