/*
 * checkpoint: stop here, go on there, and nobody can tell.
 *
 *     DIR/update-00000100/
 *         manifest.json           what was saved, and which file holds which piece of it (inventory.h)
 *         rank-0.safetensors      | param.fc1.weight@0    | momentum.fc1.weight@0    | ...
 *         rank-1.safetensors      | param.fc1.weight@1024 | momentum.fc1.weight@1024 | ...
 *
 * Everything the next update depends on: parameters, the optimizer's state, the number of updates made (also
 * the position in the epoch and in the schedule), and the settings that fix the order of samples. Each rank
 * writes what it owns, into a folder aside; when all have, rank 0 writes the manifest and renames the folder:
 * a kill at any moment leaves the old one or the new one (shelf.h). Whoever loads reads the pieces it needs
 * from whichever files hold them: any lesson, stage and world goes on from what any other has saved.
 */
#ifndef LESSON01_CHECKPOINT_H
#define LESSON01_CHECKPOINT_H

#include "common/fail.h"
#include "common/inventory.h"
#include "common/options.h"
#include "common/sampler.h"
#include "common/shelf.h"
#include "lesson01_single/loss_scale.h"
#include "lesson01_single/optimizer.h"
#include "lesson01_single/pieces.h"

struct checkpoint {
    const struct options *options;
    const struct sampler *sampler;
    struct optimizer *optimizer;
    struct loss_scale *scale; // or NULL
    struct pieces pieces;     // this rank's
    int rank, world;

    /* all (world * count) = every rank's mine (count). NULL: there is one rank. */
    int (*gather)(void *context, const double *mine, size_t count, double *all, struct fail *fail);
    void *context;
};

/* By all ranks alike. All or none succeed: 0, or a negative error naming the file and what is wrong with it,
 * or the rank that failed; then what was saved before is as it was. */
int checkpoint_save(const struct checkpoint *checkpoint, struct fail *fail);

/* What was loaded, for a line that says so. */
struct checkpoint_source {
    char path[SHELF_PATH_BYTES];
    size_t lesson, stage, world;
};

/* Fills the pieces from the last update saved in `directory`, or from the one that it is itself, and sets what
 * is counted. It must be of this model, optimizer and order of samples; anything else is refused, naming what
 * differs, as is anything damaged. By each rank for itself. */
int checkpoint_load(const struct checkpoint *checkpoint, const char *directory,
                    struct checkpoint_source *source, struct fail *fail);

/* Parameters alone, a slice of the slab to values (slice.count), from any safetensors file that holds
 * every tensor of the model as `<name>` or `param.<name>`, and none of another model. */
int checkpoint_load_parameters(const char *path, const struct model *model, struct slice slice,
                               float *values, struct fail *fail);

#endif
