/*
 * checkpoint: stop here, go on there, and nobody can tell.
 *
 * DIR/checkpoint.safetensors holds everything the next update depends on: parameters, the
 * optimizer's state, the number of updates made (which is also the position in the epoch and in the
 * schedule), and the settings that fix the order of samples. It always holds the whole state,
 * whoever owned it, so any lesson at any world size can go on from it. A file is replaced in one
 * rename: a kill at any moment leaves the old one or the new one.
 */
#ifndef LESSON01_CHECKPOINT_H
#define LESSON01_CHECKPOINT_H

#include "common/fail.h"
#include "common/options.h"
#include "common/sampler.h"
#include "lesson01_single/loss_scale.h"
#include "lesson01_single/optimizer.h"

struct checkpoint {
    const struct options *options;
    const struct sampler *sampler;
    struct optimizer *optimizer;
    struct loss_scale *scale; // or NULL
    float *param;             // (model.count)
    bool writes;              // this rank writes the file; every rank takes part in gathering

    /* Points *whole to state `index` of the whole slab (model.count). NULL: the optimizer owns the
     * whole slab already. Called by all ranks alike, in order; valid until the next call. */
    int (*gather)(void *context, size_t index, const float **whole, struct fail *fail);
    void *context;
};

/* 0, or a negative error naming the file and what is wrong. */
int checkpoint_save(const struct checkpoint *checkpoint, struct fail *fail);

/* Also one that cannot be looked at, or a link that leads nowhere: to begin anew would replace it. */
bool checkpoint_exists(const char *directory);

/* Fills param and the owned state from the directory's file, sets what is counted (checkpoint_counts.h). The file must be of this model,
 * optimizer and order of samples; anything else is refused, naming what differs. */
int checkpoint_load(const struct checkpoint *checkpoint, const char *directory, struct fail *fail);

/* Parameters alone, a slice of the slab to values (slice.count), from any safetensors file that holds
 * every tensor of the model as `<name>` or `param.<name>`, and none of another model. */
int checkpoint_load_parameters(const char *path, const struct model *model, struct slice slice,
                               float *values, struct fail *fail);

#endif
