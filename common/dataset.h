/*
 * dataset: samples in memory, whatever file they came from.
 *
 * A reader per format stands in a file of its own (digits and CSV, IDX, synthetic); all of them
 * check everything that can be wrong with their input before they return, and none returns part
 * of a data set. Features are floats, row after row, scaled as the format says.
 */
#ifndef COMMON_DATASET_H
#define COMMON_DATASET_H

#include "common/fail.h"
#include "common/memory.h"
#include "common/options.h"

#include <stddef.h>
#include <stdint.h>

struct dataset {
    size_t count;    // samples
    size_t width;    // features of a sample
    size_t outputs;  // classes to tell apart, or numbers to predict
    float *features; // (count, width)
    int32_t *labels; // (count), 0 .. outputs-1; NULL for regression
    float *targets;  // (count, outputs); NULL for classification
    enum task task;  // TASK_CLASSIFY or TASK_REGRESS
    struct memory *memory;
};

/* What --data, --test-data and --task ask for.
 *
 * Digits, synthetic, and an IDX folder with t10k files have a test part: as --data they give the
 * other part, as --test-data this one. A CSV file, or a folder without t10k files, has none: all of
 * it is used either way; without --test-data, the samples whose index mod 5 is 4 are for testing,
 * and the others for training, each in file order. With fewer than five, test->count is 0.
 *
 * Digits and IDX are 10 classes (with --task regress: the label as a number), synthetic is numbers.
 * The targets of a CSV file decide: whole numbers from 0 to 999, not all 0, are classes, as many as
 * the largest + 1; others are one number to predict.
 *
 * 0, or a negative error with the file, the line or index, what was expected and what was found;
 * nothing is left allocated then. Release both with dataset_release. */
int dataset_load(struct dataset *train, struct dataset *test, const struct options *options,
                 struct memory *memory, struct fail *fail);

/* Accepts a zeroed dataset; ends in one. */
void dataset_release(struct dataset *dataset);

#endif
