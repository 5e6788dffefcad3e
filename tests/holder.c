/* holder: one rank's state of a small network. See the header. */
#include "tests/holder.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static const struct slice buckets[] = {{0, 42}, {42, 21}, {63, 3}};
enum { BUCKETS = sizeof buckets / sizeof *buckets, SAMPLES = 100 };

static float value_of(size_t kind, size_t element)
{
    return (float)element + 0.125f + 1000 * (float)kind;
}

void holder_open(struct holder *holder, const struct folder *folder, const char *name,
                 enum optimizer_kind kind, int world, int rank)
{
    static const size_t widths[] = {5, 7, 3};
    struct fail fail = {0};
    *holder = (struct holder){
        .options = {.lesson = 4,
                    .stage = 1,
                    .batch = 8,
                    .steps = 99,
                    .accumulate = 1,
                    .shuffle = true,
                    .keep = 1,
                    .optimizer = kind,
                    .momentum = 0.9},
    };
    folder_path(folder, name, holder->save);
    holder->options.save = holder->save;
    model_plan(&holder->model, widths, 2, true);
    ck_assert_uint_eq(holder->model.count, 66);
    for (size_t i = 0; i < BUCKETS; i++) {
        holder->owned[i] = slice_of(buckets[i].count, (size_t)world, (size_t)rank);
        holder->owned[i].begin += buckets[i].begin;
    }
    holder->param = calloc(holder->model.count, sizeof *holder->param);
    ck_assert_ptr_nonnull(holder->param);
    ck_assert_int_eq(
        sampler_init(&holder->sampler, SAMPLES, &holder->options, &holder->memory, &fail), 0);
    ck_assert_int_eq(optimizer_init(&holder->optimizer, &holder->options, &holder->model,
                                    holder->owned, BUCKETS, &holder->memory),
                     0);
    holder->optimizer.updates = 7;
}

void holder_close(struct holder *holder)
{
    optimizer_release(&holder->optimizer);
    sampler_release(&holder->sampler);
    free(holder->param);
}

void holder_fill(struct holder *holder)
{
    for (size_t i = 0; i < holder->model.count; i++)
        holder->param[i] = value_of(0, i);
    for (size_t s = 0; s < holder->optimizer.states; s++) {
        float *state = holder->optimizer.state[s];
        for (size_t i = 0; i < BUCKETS; i++)
            for (size_t j = 0; j < holder->owned[i].count; j++)
                *state++ = value_of(1 + s, holder->owned[i].begin + j);
    }
}

static const char *tell(size_t kind, size_t element, float found)
{
    static char text[96];
    snprintf(text, sizeof text, "kind %zu, element %zu is %g, not %g", kind, element, (double)found,
             (double)value_of(kind, element));
    return text;
}

static const char *owned_differ(const struct holder *holder)
{
    for (size_t s = 0; s < holder->optimizer.states; s++) {
        const float *state = holder->optimizer.state[s];
        for (size_t i = 0; i < BUCKETS; i++)
            for (size_t j = 0; j < holder->owned[i].count; j++, state++)
                if (*state != value_of(1 + s, holder->owned[i].begin + j))
                    return tell(1 + s, holder->owned[i].begin + j, *state);
    }
    return NULL;
}

static bool owns(const struct holder *holder, size_t element)
{
    for (size_t i = 0; i < BUCKETS; i++)
        if (element >= holder->owned[i].begin &&
            element - holder->owned[i].begin < holder->owned[i].count)
            return true;
    return false;
}

/* What is not asked for is not touched. */
const char *holder_differs(const struct holder *holder, bool all)
{
    for (size_t i = 0; i < holder->model.count; i++) {
        float expected = all || owns(holder, i) ? value_of(0, i) : 0;
        if (holder->param[i] != expected)
            return tell(0, i, holder->param[i]);
    }
    return owned_differ(holder);
}

void holder_checkpoint(struct holder *holder, bool all, int world, int rank,
                       struct checkpoint *checkpoint)
{
    *checkpoint = (struct checkpoint){
        .options = &holder->options,
        .sampler = &holder->sampler,
        .optimizer = &holder->optimizer,
        .scale = &holder->scale,
        .rank = rank,
        .world = world,
    };
    struct slice whole = {0, holder->model.count};
    if (all)
        pieces_add(&checkpoint->pieces, 0, whole, holder->param);
    for (size_t i = 0; i < BUCKETS && !all; i++)
        pieces_add(&checkpoint->pieces, 0, holder->owned[i],
                   holder->param + holder->owned[i].begin);
    pieces_add_states(&checkpoint->pieces, &holder->optimizer);
}
