/* lesson03: the table of the checks of lesson 3. See grade.h. */
#include "tests/grade/check_bucket.h"
#include "tests/grade/check_ddp.h"
#include "tests/grade/check_overlap.h"
#include "tests/grade/check_window.h"
#include "tests/grade/check_worker.h"

const struct check lesson03_checks[] = {
    {"03.1", "tiles", KIND_CORRECT, 8, "buckets tile the slab, each tensor whole in one",
     bucket_tiles, 0},
    {"03.1", "caps", KIND_COUNTED, 6, "a bucket is closed when the next tensor does not fit",
     bucket_caps, 0},
    {"03.1", "orders", KIND_ROBUST, 6, "orders that jump, and tensors that take no part",
     bucket_orders, 0},
    {"03.2", "turns", KIND_COUNTED, 9, "a full bucket leaves at once, and in its turn", ddp_turns,
     0},
    {"03.2", "steps", KIND_COUNTED, 5, "in every step each bucket leaves once", ddp_steps, 0},
    {"03.2", "holds", KIND_ROBUST, 3, "without overlap none leaves in backward", ddp_holds, 0},
    {"03.2", "sums", KIND_CORRECT, 8, "the gradient is lesson 2's, bit for bit", ddp_sums, 0},
    {"03.2", "counted", KIND_COUNTED, 5, "a ring's bytes and messages for each bucket", ddp_counted,
     0},
    {"03.3", "order", KIND_CORRECT, 6, "jobs are done in order, by another thread", worker_in_order,
     WORKER_LIMIT_SECONDS},
    {"03.3", "begins", KIND_COUNTED, 5, "a job begins before the next is submitted", worker_begins,
     WORKER_LIMIT_SECONDS},
    {"03.3", "errors", KIND_ROBUST, 3, "an error ends all work; stopping ends what was begun",
     worker_errors, WORKER_LIMIT_SECONDS},
    {"03.3", "sleeps", KIND_SPEED, 2, "who has nothing to do sleeps", worker_sleeps,
     WORKER_LIMIT_SECONDS},
    {"03.3", "early", KIND_COUNTED, 4, "a bucket is under way before backward has ended",
     overlap_early, 0},
    {"03.3", "pays", KIND_SPEED, 3, "over slow links a step with overlap is shorter", overlap_pays,
     0},
    {"03.3", "killed", KIND_ROBUST, 2, "a rank that dies in backward is told to all others",
     overlap_killed, 0},
    {"03.4", "weight", KIND_CORRECT, 10, "the window's gradient is that of its mean loss",
     window_weight, 0},
    {"03.4", "short", KIND_ROBUST, 4, "ranks without a sample, micro-batches of one", window_short,
     0},
    {"03.4", "final", KIND_COUNTED, 7, "a gradient is announced once, when it is final",
     window_final, 0},
    {"03.4", "calls", KIND_COUNTED, 4, "one reduction of each bucket for each update", window_calls,
     0},
    {0},
};
