/* pieces: where a rank's part of the state lies. See the header. */
#include "lesson01_single/pieces.h"

#include <assert.h>
#include <string.h>

static void add(struct pieces *pieces, const struct piece *piece)
{
    if (piece->slice.count == 0)
        return;
    assert(pieces->count < PIECES_MOST);
    pieces->items[pieces->count++] = *piece;
}

void pieces_add(struct pieces *pieces, size_t kind, struct slice slice, float *values)
{
    add(pieces, &(struct piece){.kind = kind, .slice = slice, .values = values});
}

void pieces_add_stored(struct pieces *pieces, size_t kind, struct slice slice,
                       const struct optimizer_store *store, size_t at)
{
    add(pieces, &(struct piece){.kind = kind, .slice = slice, .store = store, .at = at});
}

void pieces_add_states(struct pieces *pieces, const struct optimizer *optimizer)
{
    for (size_t i = 0; i < optimizer->states; i++) {
        struct piece piece = {.kind = 1 + i, .store = optimizer->store};
        for (size_t j = 0; j < optimizer->owned_count; j++) {
            piece.slice = optimizer->owned[j];
            piece.values = optimizer->state[i] ? optimizer->state[i] + piece.at : NULL;
            add(pieces, &piece);
            piece.at += piece.slice.count;
        }
    }
}

/* Of the store: which state, and which of its elements. */
static size_t state_of(const struct piece *piece)
{
    return piece->kind > 0 ? piece->kind - 1 : 0;
}

static struct slice in_store(const struct piece *piece, struct slice part)
{
    return (struct slice){piece->at + (part.begin - piece->slice.begin), part.count};
}

const float *pieces_fetch(const struct piece *piece, struct slice part, float *buffer,
                          struct fail *fail)
{
    const struct optimizer_store *store = piece->store;
    if (piece->values)
        return piece->values + (part.begin - piece->slice.begin);
    int error = store->read(store->context, state_of(piece), in_store(piece, part), buffer, fail);
    return error ? NULL : buffer;
}

int pieces_put(const struct piece *piece, struct slice part, const float *values, struct fail *fail)
{
    const struct optimizer_store *store = piece->store;
    if (!piece->values)
        return store->write(store->context, state_of(piece), in_store(piece, part), values, fail);
    memcpy(piece->values + (part.begin - piece->slice.begin), values, part.count * sizeof *values);
    return 0;
}
