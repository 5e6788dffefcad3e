/*
 * lesson02: the checks of lesson 2, task by task. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_LESSON02_H
#define TESTS_GRADE_LESSON02_H

#include "tests/grade/grade.h"

/* 02.1, check_chunk.c */
int chunk_tile(struct grade *grade);
int chunk_parts(struct grade *grade);

/* 02.2, check_hello.c */
int hello_put(struct grade *grade);
int hello_get(struct grade *grade);
int hello_refuses(struct grade *grade);
int hello_stranger(struct grade *grade);

/* 02.3, check_link.c */
int link_whole(struct grade *grade);
int link_queued(struct grade *grade);
int link_broken(struct grade *grade);
int link_shim(struct grade *grade);

/* 02.4 to 02.6, check_ring.c */
int scatter_sums(struct grade *grade);
int scatter_types(struct grade *grade);
int scatter_counted(struct grade *grade);
int scatter_sizes(struct grade *grade);
int gather_moves(struct grade *grade);
int gather_types(struct grade *grade);
int gather_counted(struct grade *grade);
int gather_sizes(struct grade *grade);
int ring_sums(struct grade *grade);
int ring_counted(struct grade *grade);
int ring_sizes(struct grade *grade);

/* 02.6, check_step.c */
int ring_step(struct grade *grade);
int ring_killed(struct grade *grade);
int ring_speed(struct grade *grade);

#endif
