/*
 * script: what a training pass will ask for, in order, known before the first one.
 *
 * Forward goes up, backward comes down, and where activations are computed again it goes up once more in
 * between. A pass over no samples computes nothing and asks for the same:
 *
 *     layers     fc1 fc2 fc3   fc3 fc2 fc1
 *     gradients                fc3.bias fc3.weight fc2.bias ...
 *
 * From the first follows which parameters are to be fetched while a layer computes, and how many buckets of
 * them are here at the same time. From the second, how many buckets of gradients are being filled at the
 * same time: mostly one, and more where a weight is used by several layers.
 */
#ifndef LESSON04_SCRIPT_H
#define LESSON04_SCRIPT_H

#include "lesson01_single/activations.h"
#include "lesson01_single/model.h"
#include "lesson03_ddp/bucket.h"

enum { SCRIPT_USES_MOST = 4 * MODEL_LAYERS_MOST };

struct script {
    size_t uses[SCRIPT_USES_MOST]; // layers, in the order in which their parameters are used
    size_t use_count;
    size_t open_most; // buckets begun and not yet sent, at most
};

/* Keeping every such activation, as the trainer does. */
void script_rehearse(struct script *script, const struct model *model, size_t every,
                     const struct bucket_plan *plan);

/* Sets of buckets: bit b is bucket b. */
typedef uint64_t script_buckets;
_Static_assert(MODEL_TENSORS_MOST <= 64, "script: a bucket is a bit of 64");

/* The buckets, of those in `among`, that hold a layer's tensors. */
script_buckets script_needs(const struct model *model, const struct bucket_plan *plan, size_t layer,
                            script_buckets among);

/* How many of them are here at the same time, at most: of a layer, and of the next in the script. */
size_t script_here_most(const struct script *script, const struct model *model,
                        const struct bucket_plan *plan, script_buckets among);

#endif
