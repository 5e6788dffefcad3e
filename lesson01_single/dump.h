/*
 * dump: what a step computed, as a file that `verify` and any safetensors reader can open.
 *
 * DIR/rank-R/step-000000.safetensors holds grad.<name> (reduced, not clipped), param.<name> (after
 * the update) and the optimizer's state. Where a rank owns but a part of a tensor (lesson 4),
 * gradient and state are 1-D, and the metadata <kind>.<name>.offset says where in the tensor they
 * begin; parameters are always whole.
 */
#ifndef LESSON01_DUMP_H
#define LESSON01_DUMP_H

#include "common/fail.h"
#include "common/options.h"
#include "lesson01_single/optimizer.h"

struct dump {
    const struct options *options;
    int rank, world;
    const float *param, *grad; // slabs; grad may be packed, as the optimizer says
    const struct optimizer *optimizer;
};

/* Makes the directories. 0, or a negative error naming the one that could not be made. */
int dump_open(const struct dump *dump, struct fail *fail);

/* Of the step: the mean over all its samples. */
struct dump_loss {
    double mean;
    size_t samples;
};

/* Writes the file of update `step`. 0, or a negative error naming the file. */
int dump_step(const struct dump *dump, size_t step, const struct dump_loss *loss,
              struct fail *fail);

#endif
