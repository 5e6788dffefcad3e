/* lesson04: the table of the checks of lesson 4. See grade.h. */
#include "tests/grade/check_norm.h"
#include "tests/grade/check_shard.h"
#include "tests/grade/check_stage2.h"
#include "tests/grade/check_stage3.h"
#include "tests/grade/check_zero.h"

const struct check lesson04_checks[] = {
    {"04.1", "tiles", KIND_CORRECT, 6, "every element has one owner", shard_tiles, 0},
    {"04.1", "chunks", KIND_CORRECT, 5, "rank r owns chunk r of each bucket", shard_chunks, 0},
    {"04.1", "packed", KIND_CORRECT, 5, "packed arrays are dense, in the slab's order",
     shard_packed, 0},
    {"04.1", "counted", KIND_COUNTED, 4, "nobody owns more than its part", shard_counted, 0},
    {"04.2", "sums", KIND_CORRECT, 6, "the owned sums are lesson 3's, bit for bit", zero_sums, 0},
    {"04.2", "shares", KIND_CORRECT, 5, "every rank has every owner's new parameters", zero_shares,
     0},
    {"04.2", "updates", KIND_CORRECT, 4, "updates are lesson 3's, bit for bit", zero_updates, 0},
    {"04.2", "bytes", KIND_COUNTED, 5, "a reduce-scatter and an all-gather, and no more",
     zero_bytes, 0},
    {"04.2", "state", KIND_COUNTED, 5, "optimizer state for what it owns alone", zero_state, 0},
    {"04.3", "whole", KIND_CORRECT, 7, "the parts' norm is the whole's, bit for bit", norm_whole,
     0},
    {"04.3", "ranges", KIND_ROBUST, 5, "huge, tiny and bad elements of one rank's part",
     norm_ranges, 0},
    {"04.3", "counted", KIND_COUNTED, 3, "a few numbers are sent, not the gradient", norm_counted,
     0},
    {"04.4", "sums", KIND_CORRECT, 6, "the owned sums are lesson 3's, bit for bit", stage2_sums, 0},
    {"04.4", "windows", KIND_ROBUST, 2, "also where all buckets are filled before one leaves",
     stage2_windows, 0},
    {"04.4", "kept", KIND_COUNTED, 4, "1/R of the gradient is kept, by the ledger", stage2_kept, 0},
    {"04.4", "released", KIND_COUNTED, 3, "a bucket's buffer is let go when it leaves",
     stage2_released, 0},
    {"04.4", "early", KIND_COUNTED, 2, "backward does not wait for a sum", stage2_early, 0},
    {"04.4", "bytes", KIND_COUNTED, 2, "a reduce-scatter of the gradient, and no more",
     stage2_bytes, 0},
    {"04.5", "values", KIND_CORRECT, 6, "a layer's parameters are there when it computes",
     stage3_values, 0},
    {"04.5", "here", KIND_COUNTED, 5, "this layer's and the next one's are here, and no others",
     stage3_here, 0},
    {"04.5", "updates", KIND_CORRECT, 3, "updates are lesson 3's, bit for bit", stage3_updates, 0},
    {"04.5", "kept", KIND_COUNTED, 3, "1/R of the parameters is kept, by the ledger", stage3_kept,
     0},
    {"04.5", "bytes", KIND_COUNTED, 2, "parameters go round twice a step, gradients home once",
     stage3_bytes, 0},
    {"04.5", "killed", KIND_ROBUST, 2, "a rank that dies in backward is told to all others",
     stage3_killed, 0},
    {0},
};
