/*
 * explain_stage: what a rank keeps at stages 2 and 3, and when parameters come and go, written down before
 * anything is computed or sent.
 *
 *     bucket   elements  of rank 0  state    gradient  parameters
 *          0         10          4  a chunk  a chunk   a chunk, and the whole: it stays
 *          1         16          6  a chunk  a chunk   a chunk
 *
 * and, for stage 3, the walk through the layers that zero3.h makes, use by use (script.h).
 */
#ifndef LESSON04_EXPLAIN_STAGE_H
#define LESSON04_EXPLAIN_STAGE_H

#include "lesson04_zero/script.h"

#include <stdio.h>

struct explain_stage {
    int stage; // 2 or 3
    const struct model *model;
    const struct bucket_plan *plan;
    const struct script *script;
    script_buckets sharded; // zero3_sharded; none in stage 2
    size_t world, accumulate;
    bool keeps_all; // zero2_keeps_all
};

/* How often an update of `accumulate` micro-batches gathers each bucket: gathers (plan->count). */
void explain_stage_gathers(const struct explain_stage *explain, size_t *gathers);

void explain_stage(FILE *out, const struct explain_stage *explain);

#endif
