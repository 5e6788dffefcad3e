/*
 * lesson03: the checks of lesson 3, task by task. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_LESSON03_H
#define TESTS_GRADE_LESSON03_H

#include "tests/grade/grade.h"

enum { WORKER_LIMIT_SECONDS = 10 }; // of those that a wrong worker lets wait for ever

/* 03.1, check_bucket.c */
int bucket_tiles(struct grade *grade);
int bucket_caps(struct grade *grade);
int bucket_orders(struct grade *grade);

/* 03.2, check_ddp.c */
int ddp_turns(struct grade *grade);
int ddp_steps(struct grade *grade);
int ddp_holds(struct grade *grade);
int ddp_sums(struct grade *grade);
int ddp_counted(struct grade *grade);

/* 03.3, check_worker.c */
int worker_in_order(struct grade *grade);
int worker_begins(struct grade *grade);
int worker_errors(struct grade *grade);
int worker_sleeps(struct grade *grade);

/* 03.3, with all of lesson 3, check_overlap.c */
int overlap_early(struct grade *grade);
int overlap_pays(struct grade *grade);
int overlap_killed(struct grade *grade);

/* 03.4, check_window.c */
int window_weight(struct grade *grade);
int window_short(struct grade *grade);
int window_final(struct grade *grade);
int window_calls(struct grade *grade);

#endif
