/*
 * dumpstep: one step of a dump, all ranks' files as one list of whole tensors.
 *
 * A rank holds a tensor whole, or, sharded, a part of it (metadata `<name>.offset` says where it
 * begins). Parts are put together here; that they leave nothing out is checked on opening:
 *
 *     rank 0   | 0 1 2 |             |
 *     rank 1           | 3 4 5 |     |      dumpstep_read(..., 2 .. 7) reads from three files
 *     rank 2                   | 6 7 |
 */
#ifndef COMMON_DUMPSTEP_H
#define COMMON_DUMPSTEP_H

#include "common/dumpset.h"
#include "common/slice.h"
#include "common/tensorfile.h"

#include <stdbool.h>

struct dumptensor {
    char name[TENSORFILE_NAME_BYTES]; // "grad.fc1.weight"
    size_t count;                     // elements of the whole
    size_t dimensions;                // of the whole; 1 when only parts are known
    size_t shape[TENSORFILE_DIMENSIONS_MOST];
    bool sharded; // ranks hold parts
};

struct dumpstep {
    const struct dumpset *set;
    size_t step;
    struct tensorfile_reader **readers; // (set->world)
    struct dumptensor *tensors;         // (count), kind by kind: grad, moments, param, others
    size_t count;
};

/* 0; -EINVAL when a file is damaged, its metadata contradict where it lies, or ranks together do
 * not hold a tensor whole; or what the system said. Release whatever the outcome. */
int dumpstep_open(struct dumpstep *dumpstep, const struct dumpset *set, size_t step,
                  struct fail *fail);

/* Accepts a zeroed step; ends in one. */
void dumpstep_release(struct dumpstep *dumpstep);

const struct dumptensor *dumpstep_find(const struct dumpstep *dumpstep,
                                       const char *name); // or NULL

/* The length of the kind in front of the name: 4 for "grad.fc1.weight". */
size_t dumptensor_kind_length(const struct dumptensor *tensor);

/* The elements of a tensor that `rank` holds; count 0 when none. */
struct slice dumpstep_held(const struct dumpstep *dumpstep, size_t rank, const char *name);

/* Reads elements of the whole tensor, from `rank` where it holds them, else from who does. */
int dumpstep_read(const struct dumpstep *dumpstep, size_t rank, const char *name,
                  struct slice elements, float *values, struct fail *fail);

#endif
