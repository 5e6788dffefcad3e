/*
 * asked_plan: --explain, as lessons 3 and 4 answer it: the bucket plan instead of training.
 */
#ifndef LESSON03_ASKED_PLAN_H
#define LESSON03_ASKED_PLAN_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/explain_buckets.h"

struct asked_plan {
    struct explain_buckets explain;
    struct bucket_plan plan; // the first
};

/* It needs nobody else. 0, or an error that run->fail tells. */
int asked_plan_make(struct asked_plan *asked, struct run *run);

/* Prints it and, where a rebuild will change it, the second plan. */
void asked_plan_show(const struct asked_plan *asked, const struct run *run);

/* Both, for rank 0; the other ranks do nothing. 0, or an error that run->fail tells. */
int asked_plan(struct run *run);

#endif
