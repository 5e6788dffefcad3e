/*
 * checkpoint_counts: the whole numbers of a checkpoint, as metadata of its file.
 *
 *     updates        made so far
 *     skipped        of these, how many changed nothing
 *     loss_scale     a power of two, and
 *     good_updates   since it last changed; both only where it is dynamic
 */
#ifndef LESSON01_CHECKPOINT_COUNTS_H
#define LESSON01_CHECKPOINT_COUNTS_H

#include "common/tensorfile.h"
#include "lesson01_single/loss_scale.h"
#include "lesson01_single/optimizer.h"

struct checkpoint_counts {
    struct optimizer *optimizer;
    struct loss_scale *scale; // NULL: none
};

/* 0, or the writer's error. */
int checkpoint_counts_write(const struct checkpoint_counts *counts,
                            struct tensorfile_writer *writer, struct fail *fail);

/* A file of a run without a dynamic scale leaves the scale as it is. 0, or -EINVAL naming what is
 * wrong. */
int checkpoint_counts_read(const struct checkpoint_counts *counts,
                           const struct tensorfile_reader *reader, struct fail *fail);

#endif
