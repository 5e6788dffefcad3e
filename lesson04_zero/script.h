/*
 * script: what a training pass will ask for, in order, known before the first one.
 *
 * Forward goes up, backward comes down, and where activations are computed again it goes up once more in
 * between. A pass over no samples computes nothing and asks for the same:
 *
 *     layers     fc1 fc2 fc3   fc3 fc2 fc1
 *     gradients                fc3.bias fc3.weight fc2.bias ...
 *
 * From the first follows which parameters are to be fetched while a layer computes, and which buckets of
 * them are here at the same time. From the second, which buckets of gradients are being filled at the
 * same time: mostly one, and more where a weight is used by several layers.
 */
#ifndef LESSON04_SCRIPT_H
#define LESSON04_SCRIPT_H

#include "lesson01_single/activations.h"
#include "lesson01_single/model.h"
#include "lesson03_ddp/bucket.h"

enum { SCRIPT_USES_MOST = 4 * MODEL_LAYERS_MOST };

/* Sets of buckets: bit b is bucket b. */
typedef uint64_t script_buckets;
_Static_assert(MODEL_TENSORS_MOST <= 64, "script: a bucket is a bit of 64");

struct script {
    size_t uses[SCRIPT_USES_MOST]; // layers, in the order in which their parameters are used
    size_t use_count;
    script_buckets
        open_with[MODEL_TENSORS_MOST]; // of each bucket: those begun and not yet sent with it
};

/* Keeping every such activation, as the trainer does. */
void script_rehearse(struct script *script, const struct model *model, size_t every,
                     const struct bucket_plan *plan);

/* The buckets, of those in `among`, that hold a layer's tensors. */
script_buckets script_needs(const struct model *model, const struct bucket_plan *plan, size_t layer,
                            script_buckets among);

/* here_with[b] (MODEL_TENSORS_MOST), of each bucket in `among`: those whose parameters are here with its own, that is,
 * of the same layer, or of layers that follow each other in the script. */
void script_here(const struct script *script, const struct model *model,
                 const struct bucket_plan *plan, script_buckets among, script_buckets *here_with);

#endif
