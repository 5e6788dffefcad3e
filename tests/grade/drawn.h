/*
 * drawn: models, bucket plans and flags for the checks of lessons 3 and 4, from a check's numbers.
 *
 * A plan is made here by hand, as lesson 3 would make it, so that a check of what is done with buckets does not
 * need the student's planner.
 */
#ifndef TESTS_GRADE_DRAWN_H
#define TESTS_GRADE_DRAWN_H

#include "lesson03_ddp/bucket.h"
#include "tests/grade/grade.h"

enum { DRAWN_TEXT_BYTES = 256, DRAWN_COUNT_MOST = 4096 }; // parameters at most

/* What the ranks of a check are given. */
struct drawn {
    const struct grade *grade;
    char arguments[DRAWN_TEXT_BYTES]; // of a lesson
};

/* " --hidden 5,3,7" of so many layers: widths from 3 to 9, so that some buckets are smaller than a world. The
 * digits' model has 64 inputs and 10 outputs. */
struct drawn drawn_flags(struct grade *grade, size_t hidden, const char *more);

/* 1 to `layers_most` layers, widths from 1 to 12, with biases or without. */
struct model drawn_model(struct grade *grade, size_t layers_most);

/* Buckets of one tensor or more, cut anywhere, from the last tensor to the first. */
struct bucket_plan drawn_plan(struct grade *grade, const struct model *model);

/* A permutation of the model's tensors. */
struct bucket_order drawn_order(struct grade *grade, const struct model *model);

#endif
