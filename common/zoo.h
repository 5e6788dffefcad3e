/*
 * zoo: the well-known mistakes of distributed training, each of which `--inject NAME` plants.
 *
 * Every member has one row in one table (zoo_table.c). The refusals, `--help`, `--inject help`, the doctor's
 * verdicts, the handbook and the tests all come from it. The lessons ask `zoo_has(options, ZOO_X)` in one line,
 * at the place where the mistake is made in real programs; without --inject that is false everywhere, and not a
 * bit of a run changes.
 *
 * The section of docs/odd-curves.md about a member has its name: docs/odd-curves.md#sum-not-mean.
 */
#ifndef COMMON_ZOO_H
#define COMMON_ZOO_H

#include "common/fail.h"
#include "common/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum zoo_member {
    ZOO_SUM_NOT_MEAN,
    ZOO_MEAN_TWICE,
    ZOO_NO_LR_SCALE,
    ZOO_LR_SCALE_NO_WARMUP,
    ZOO_NO_SET_EPOCH,
    ZOO_SAME_SHARD,
    ZOO_SEED_PER_RANK,
    ZOO_SAME_DROPOUT,
    ZOO_SHUFFLE_PER_RANK,
    ZOO_LAST_BATCH_UNWEIGHTED,
    ZOO_RANK0_LOSS_ONLY,
    ZOO_SYNC_LAST_MICROBATCH_ONLY,
    ZOO_SYNC_FIRST_MICROBATCH_ONLY,
    ZOO_CLIP_BEFORE_REDUCE,
    ZOO_CLIP_PER_SHARD,
    ZOO_STALE_BUCKET,
    ZOO_SKIP_ONE_RANK,
    ZOO_DECAY_BIASES,
    ZOO_EVAL_PADDING_COUNTED,
    ZOO_RESUME_REPEATS_DATA,
    ZOO_RESUME_WITHOUT_MOMENTUM,
    ZOO_BATCH_NOT_DIVIDED,
    ZOO_MEMBERS
};

struct zoo_row {
    const char *name;      // of --inject, and of its section in the handbook
    unsigned lessons;      // bit L: it can be planted in lesson L
    int most_stage;        // of ZeRO, up to which
    bool needs_ranks;      // it means nothing with one rank
    bool needs_reference;  // one run's record does not suffice to find it
    const char *needs;     // a flag it means nothing without, as one would give it; or NULL
    const char *excludes;  // names of flags, with spaces between, it does not go with; or NULL
    unsigned caught;       // bit L: lesson L's --verify 2 catches it, where shares are even
    const char *wrong;     // what goes wrong
    const char *symptom;   // what one sees
    const char *cure;      // what mends it
    const char *elsewhere; // where the same is done in PyTorch, Hugging Face Trainer, DeepSpeed
};

extern const struct zoo_row zoo_table[ZOO_MEMBERS];

static inline bool zoo_has(const struct options *options, enum zoo_member member)
{
    return (options->inject >> member & 1) != 0;
}

/* The member of this name (`length` bytes of it), or -1. */
int zoo_find(const char *name, size_t length);

/* NAME[,NAME...] as a set of bits. False: some name is none. */
bool zoo_read(const char *text, uint64_t *inject);

/* A member and another that make no sense together; *other is the second's. False: `member` goes with all. */
bool zoo_contradicts(enum zoo_member member, uint64_t inject, enum zoo_member *other);

/* What is planted and means nothing with one rank: -EINVAL with the sentence. Else 0. */
int zoo_check_world(const struct options *options, int world, struct fail *fail);

/* The table, to be read: what `--inject help` shows of this lesson. */
void zoo_print(int lesson, FILE *out);

#endif
