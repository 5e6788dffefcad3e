/*
 * lesson04: the checks of lesson 4, task by task. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_LESSON04_H
#define TESTS_GRADE_LESSON04_H

#include "tests/grade/grade.h"

/* 04.1, check_shard.c */
int shard_tiles(struct grade *grade);
int shard_chunks(struct grade *grade);
int shard_packed(struct grade *grade);
int shard_counted(struct grade *grade);

/* 04.2, check_zero.c */
int zero_sums(struct grade *grade);
int zero_shares(struct grade *grade);
int zero_updates(struct grade *grade);
int zero_bytes(struct grade *grade);
int zero_state(struct grade *grade);

/* 04.3, check_norm.c */
int norm_whole(struct grade *grade);
int norm_ranges(struct grade *grade);
int norm_counted(struct grade *grade);

/* 04.4, check_stage2.c */
int stage2_sums(struct grade *grade);
int stage2_windows(struct grade *grade);
int stage2_kept(struct grade *grade);
int stage2_released(struct grade *grade);
int stage2_early(struct grade *grade);
int stage2_bytes(struct grade *grade);

/* 04.5, check_stage3.c */
int stage3_values(struct grade *grade);
int stage3_here(struct grade *grade);
int stage3_early(struct grade *grade);
int stage3_updates(struct grade *grade);
int stage3_kept(struct grade *grade);
int stage3_bytes(struct grade *grade);
int stage3_killed(struct grade *grade);

#endif
