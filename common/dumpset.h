/*
 * dumpset: the directory a run dumped its gradients, parameters and moments into.
 *
 *     DIR/rank-0/step-000000.safetensors    one directory per rank, 0 .. world-1, none missing;
 *     DIR/rank-0/step-000001.safetensors    one file per dumped step, the same steps on all ranks
 *     DIR/rank-1/...
 *
 * Whatever else lies in these directories is not looked at.
 */
#ifndef COMMON_DUMPSET_H
#define COMMON_DUMPSET_H

#include "common/fail.h"

#include <stddef.h>

struct dumpset {
    const char *folder; // the caller's text
    size_t world;       // ranks
    size_t *steps;      // (count), ascending
    size_t count;
};

/* 0; -ENOENT when there is no dump, or a rank or a step is missing on it; or what the system said.
 * `folder` must outlive the set. Release whatever the outcome. */
int dumpset_open(struct dumpset *set, const char *folder, struct fail *fail);

/* Accepts a zeroed set; ends in one. */
void dumpset_release(struct dumpset *set);

/* The path of one rank's file of a step, to be freed; NULL: out of memory. */
char *dumpset_path(const char *folder, size_t rank, size_t step);

#endif
