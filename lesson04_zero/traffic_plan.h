/*
 * traffic_plan: what a rank will send for one update, in bytes, by formula.
 *
 * An all-reduce is a reduce-scatter and an all-gather; each takes every bucket past every rank but one
 * chunk of it, (n - 1) / n of its bytes. ZeRO moves the optimizer between the two, so
 *
 *     one process   0
 *     DDP           reduce-scatter of gradients + all-gather of gradients     2 (n - 1) / n x 4 T
 *     ZeRO 1, 2     reduce-scatter of gradients + all-gather of parameters    2 (n - 1) / n x 4 T
 *     ZeRO 3        the same, and parameters are gathered once more           3 (n - 1) / n x 4 T
 *
 * In stage 3 a layer's buckets are gathered for forward and again for backward, in every micro-batch, but
 * the uppermost, which is still there, and those that stay whole (--persist-kb).
 *
 * Exactly, of one bucket of c elements, with chunk(r) = slice_of(c, n, r): in a ring rank r never
 * sends its own chunk on its way home, and never the next rank's on the way round:
 *
 *     reduce-scatter   c - chunk(r)
 *     all-gather       c - chunk(r + 1)
 *
 * The headers of messages (44 bytes each) and what a failed run says are not counted. Nor is what comes
 * before the first update, and between epochs: the first parameters, an evaluation, a checkpoint.
 */
#ifndef LESSON04_TRAFFIC_PLAN_H
#define LESSON04_TRAFFIC_PLAN_H

#include "lesson02_allreduce/choice.h"
#include "lesson04_zero/memory_plan.h"

struct traffic_plan {
    size_t gradient_bytes;
    size_t parameter_bytes;
    size_t number_bytes; // the loss, and what clipping asks for
    size_t total_bytes;
};

/* By these algorithms. */
struct traffic_plan traffic_plan_of(const struct memory_case *of, const struct choice *choice,
                                    size_t rank);

#endif
