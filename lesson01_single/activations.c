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

int activations_init(struct activations *activations, const struct model *model, size_t capacity,
                     struct memory *memory)
{
    *activations = (struct activations){.capacity = capacity};
    bool all = true;
    for (size_t layer = 0; layer <= model->layers; layer++) {
        size_t count = capacity * model->widths[layer];
        activations->a[layer] = memory_floats(memory, MEMORY_ACTIVATIONS, count);
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

void activations_release(struct activations *activations, const struct model *model,
                         struct memory *memory)
{
    for (size_t layer = 0; layer <= model->layers; layer++)
        memory_return(memory, MEMORY_ACTIVATIONS, activations->a[layer],
                      activations->capacity * model->widths[layer]);
    for (int i = 0; i < 2; i++)
        memory_return(memory, MEMORY_ACTIVATIONS, activations->d[i],
                      activations->capacity * widest_hidden(model));
    *activations = (struct activations){0};
}
