/* pieces: where a rank's part of the state lies. See the header. */
#include "lesson01_single/pieces.h"

#include <assert.h>
#include <string.h>

void pieces_add(struct pieces *pieces, size_t kind, struct slice slice, float *values)
{
    if (slice.count == 0)
        return;
    assert(pieces->count < PIECES_MOST);
    pieces->items[pieces->count++] = (struct piece){.kind = kind, .slice = slice, .values = values};
}

void pieces_add_stored(struct pieces *pieces, size_t kind, struct slice slice,
                       const struct optimizer_store *store, size_t at)
{
    size_t before = pieces->count;
    pieces_add(pieces, kind, slice, NULL);
    if (pieces->count == before)
        return;
    pieces->items[before].store = store;
    pieces->items[before].at = at;
}

void pieces_add_states(struct pieces *pieces, const struct optimizer *optimizer)
{
    for (size_t i = 0; i < optimizer->states; i++) {
        size_t at = 0;
        for (size_t j = 0; j < optimizer->owned_count; j++) {
            struct slice owned = optimizer->owned[j];
            if (optimizer->store)
                pieces_add_stored(pieces, 1 + i, owned, optimizer->store, at);
            else
                pieces_add(pieces, 1 + i, owned, optimizer->state[i] + at);
            at += owned.count;
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
