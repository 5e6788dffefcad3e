/*
 * asked_plan: --explain, as lessons 3 and 4 answer it: the bucket plan instead of training.
 */
#ifndef LESSON03_ASKED_PLAN_H
#define LESSON03_ASKED_PLAN_H

#include "lesson01_single/run.h"

/* Explains the first plan and, where a rebuild will change it, the second. It needs nobody else, so
 * rank 0 prints and the others do nothing. 0, or an error that run->fail tells. */
int asked_plan(struct run *run);

#endif
