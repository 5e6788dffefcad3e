/*
 * bucket: which gradients travel together. A pure plan.
 *
 * Buckets are filled in an order of tensors, best the one in which their gradients become final.
 * Backward finishes the last layer first, so the first guess is the reverse of registration:
 *
 *     slab        | fc1.weight | fc1.bias | fc2.weight | fc2.bias |
 *     order         fourth <---------------------------   first
 *     bucket      |     1      |               0                  |
 *
 * Walk the order and put each tensor into the open bucket, unless it does not fit or is no
 * neighbour: then close that one and open the next. The first bucket is small, so that something
 * is under way early. A tensor larger than a bucket has one for itself.
 *
 * A bucket's tensors lie side by side, so it is a slice of the slab: nothing is copied into it. An
 * order that jumps about pays for this with more, smaller buckets. Li et al., "PyTorch Distributed",
 * VLDB 2020, section 3.2.
 */
#ifndef LESSON03_BUCKET_H
#define LESSON03_BUCKET_H

#include "common/slice.h"
#include "lesson01_single/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of_tensor says of a tensor that is in no bucket. */
static const size_t BUCKET_NONE = SIZE_MAX;

struct bucket {
    struct slice slice; // of the slab
    size_t tensors;     // how many
};

/* Tensors by index into model->tensors, each at most once. One that is missing takes no part. */
struct bucket_order {
    size_t count;
    size_t tensors[MODEL_TENSORS_MOST];
};

struct bucket_plan {
    struct bucket_order order;                 // that it was made from
    size_t count;                              // buckets; 0 when no tensor takes part
    struct bucket buckets[MODEL_TENSORS_MOST]; // in the order of sending
    size_t of_tensor[MODEL_TENSORS_MOST];      // the bucket of each tensor, or BUCKET_NONE
};

/* All tensors that get gradients, the last registered first: an MLP's backward finishes them so. */
struct bucket_order bucket_order_reverse(const struct model *model);

/* Fills in the whole plan, the order it was made from among it. No bucket but a single tensor's exceeds its
 * cap. Caps may be 0: a bucket for each tensor. */
void bucket_plan_make(struct bucket_plan *plan, const struct model *model,
                      const struct bucket_order *order, size_t first_bytes, size_t bytes);

/* The same slices, sent in the same order? */
bool bucket_plan_same(const struct bucket_plan *a, const struct bucket_plan *b);

#endif
