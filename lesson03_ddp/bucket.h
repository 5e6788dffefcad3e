/*
 * bucket: which gradients travel together. A pure plan, made once.
 *
 * Backward finishes tensors from the last to the first, so buckets are filled in that order: walk
 * the tensors in reverse, put each into the open bucket while it fits, else close that one and open
 * the next. The first bucket is small, so that something is under way early. A tensor larger than a
 * bucket has one for itself.
 *
 *     slab        | fc1.weight | fc1.bias | fc2.weight | fc2.bias |
 *     ready       last  <---------------------------------  first
 *     bucket      |     1      |               0                  |
 *
 * Neighbouring tensors lie side by side, so a bucket is a slice of the slab: nothing is copied into
 * it. Li et al., "PyTorch Distributed", VLDB 2020, section 3.2.2.
 */
#ifndef LESSON03_BUCKET_H
#define LESSON03_BUCKET_H

#include "common/slice.h"
#include "lesson01_single/model.h"

#include <stddef.h>

struct bucket {
    struct slice slice; // of the slab
    size_t tensors;     // how many
};

struct bucket_plan {
    size_t count;                              // buckets
    struct bucket buckets[MODEL_TENSORS_MOST]; // in the order of sending
    size_t of_tensor[MODEL_TENSORS_MOST];      // the bucket of each tensor
};

/* No bucket but a single tensor's exceeds its cap. Caps may be 0: a bucket for each tensor. */
void bucket_plan_make(struct bucket_plan *plan, const struct model *model, size_t first_bytes,
                      size_t bytes);

#endif
