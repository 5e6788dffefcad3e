/*
 * freeze: tensors that stay as they are.
 *
 *     --freeze fc1            fc1.weight and fc1.bias
 *     --freeze fc1,fc2.bias
 *
 * A frozen tensor takes part in forward and lets gradients pass to what lies below, but has none of
 * its own: none is computed, sent, or updated by, and no optimizer state is kept for it. Below the
 * lowest layer that still learns, backward does not go at all.
 */
#ifndef LESSON01_FREEZE_H
#define LESSON01_FREEZE_H

#include "common/fail.h"
#include "lesson01_single/model.h"

/* Marks the tensors that `names` lists, a layer for all of its tensors. NULL: none. 0, or -EINVAL: a
 * name that is none of them (they are listed), a weight that is another layer's, or nothing is left
 * to train. */
int freeze(struct model *model, const char *names, struct fail *fail);

/* What is left to train, as slices of the slab, ascending, neighbours joined; room for
 * MODEL_TENSORS_MOST. How many; 1, the whole slab, when nothing is frozen. */
size_t freeze_trained(const struct model *model, struct slice *slices);

#endif
