/* activations: what forward keeps for backward. See the header. */
#include "lesson01_single/activations.h"

#include <errno.h>

static size_t widest_hidden(const struct model *model)
{
    size_t widest = 0;
    for (size_t layer = 1; layer < model->layers; layer++)
        widest = model->widths[layer] > widest ? model->widths[layer] : widest;
    return widest;
}

static bool is_kept(const struct model *model, size_t every, size_t layer)
{
    return layer % every == 0 || layer == model->layers;
}

/* The width of the array that a[layer] is; 0 when an earlier a[] has it already. One that is not kept
 * shares with all that stand in the same place between two that are. */
static size_t width_of(const struct model *model, size_t every, size_t layer)
{
    if (is_kept(model, every, layer))
        return model->widths[layer];
    if (layer >= every)
        return 0;
    size_t widest = 0;
    for (size_t other = layer; other < model->layers; other += every)
        widest = model->widths[other] > widest ? model->widths[other] : widest;
    return widest;
}

size_t activations_width(const struct model *model, size_t every)
{
    size_t width = 2 * widest_hidden(model);
    for (size_t layer = 0; layer <= model->layers; layer++)
        width += width_of(model, every, layer);
    return width;
}

int activations_init_every(struct activations *activations, const struct model *model,
                           size_t capacity, size_t every, struct memory *memory)
{
    *activations = (struct activations){.capacity = capacity, .every = every};
    bool all = true;
    for (size_t layer = 0; layer <= model->layers; layer++) {
        size_t width = width_of(model, every, layer);
        activations->a[layer] = width > 0
                                    ? memory_floats(memory, MEMORY_ACTIVATIONS, capacity * width)
                                    : activations->a[layer % every];
        all = all && activations->a[layer];
    }
    for (int i = 0; i < 2; i++) {
        size_t count = capacity * widest_hidden(model);
        activations->d[i] = memory_floats(memory, MEMORY_ACTIVATIONS, count);
        all = all && activations->d[i];
    }
    if (all)
        return 0;
    activations_release(activations, model, memory);
    return -ENOMEM;
}

int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory)
{
    return activations_init_every(activations, model, capacity, 1, memory);
}

void activations_filled(struct activations *activations, size_t layers)
{
    size_t every = activations->every, top = layers - 1; // the uppermost a[] but the output
    if (top > 0 && top % every == 0)
        top--;
    activations->held = top / every * every;
}

void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory)
{
    size_t capacity = activations->capacity, every = activations->every;
    for (size_t layer = 0; layer <= model->layers && every > 0; layer++) {
        size_t width = width_of(model, every, layer);
        if (width > 0)
            memory_return(memory, MEMORY_ACTIVATIONS, activations->a[layer], capacity * width);
    }
    for (int i = 0; i < 2; i++)
        memory_return(memory, MEMORY_ACTIVATIONS, activations->d[i],
                      capacity * widest_hidden(model));
    *activations = (struct activations){0};
}
