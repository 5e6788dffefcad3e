/*
 * pieces: where a rank's part of the state lies: what it saves, or what it wants back.
 *
 *     slab        | fc1.weight          | fc1.bias | fc2.weight ...
 *     param         [------- a piece -------]                         runs across tensors
 *     momentum              [----- another ------]
 *
 * A checkpoint knows no slab, shard or stage: only pieces, each a slice of the model's slab, of one kind, and
 * where its values are: in memory, or in a store that is read and written run by run.
 */
#ifndef LESSON01_PIECES_H
#define LESSON01_PIECES_H

#include "common/fail.h"
#include "common/slice.h"
#include "lesson01_single/model.h"
#include "lesson01_single/optimizer.h"

#include <stdbool.h>

enum { PIECES_MOST = (2 + OPTIMIZER_STATES_MOST) * MODEL_TENSORS_MOST };

struct piece {
    size_t kind;                         // 0: parameters; 1 + i: state i of the optimizer
    struct slice slice;                  // of the model's slab
    float *values;                       // (slice.count); NULL: they are in
    const struct optimizer_store *store; // this, as its state i (0 for parameters),
    size_t at;                           // from its element `at` on
};

struct pieces {
    struct piece items[PIECES_MOST];
    size_t count;
};

/* Adds one of values in memory; one that is empty is left out. */
void pieces_add(struct pieces *pieces, size_t kind, struct slice slice, float *values);

/* And one of values in a store (see struct piece). */
void pieces_add_stored(struct pieces *pieces, size_t kind, struct slice slice,
                       const struct optimizer_store *store, size_t at);

/* States of what the optimizer owns, wherever it keeps them. */
void pieces_add_states(struct pieces *pieces, const struct optimizer *optimizer);

/* A part of a piece: saving, its values, in place or in buffer (part.count); NULL: an error. */
const float *pieces_fetch(const struct piece *piece, struct slice part, float *buffer,
                          struct fail *fail);

/* And loading. 0 or an error. */
int pieces_put(const struct piece *piece, struct slice part, const float *values,
               struct fail *fail);

#endif
