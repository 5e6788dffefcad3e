/* script: what a training pass will ask for, in order. See the header. */
#include "lesson04_zero/script.h"

#include <assert.h>

/* The pass over no samples, as it is heard. */
struct heard {
    struct script *script;
    const struct bucket_plan *plan;
    bool begun[MODEL_TENSORS_MOST]; // buckets
    size_t missing[MODEL_TENSORS_MOST];
    size_t next; // the bucket that is sent next
};

/* They meet: each with all, and itself. */
static void meet(script_buckets *with, script_buckets buckets)
{
    for (size_t i = 0; i < MODEL_TENSORS_MOST; i++)
        if (buckets >> i & 1)
            with[i] |= buckets;
}

static void on_layer(void *context, size_t layer)
{
    struct script *script = ((struct heard *)context)->script;
    assert(script->use_count < SCRIPT_USES_MOST);
    script->uses[script->use_count++] = layer;
}

static void on_add(void *context, size_t tensor)
{
    struct heard *heard = context;
    script_buckets open = 0;
    heard->begun[heard->plan->of_tensor[tensor]] = true;
    for (size_t i = heard->next; i < heard->plan->count; i++)
        open |= (script_buckets)heard->begun[i] << i;
    meet(heard->script->open_with, open);
}

static void on_ready(void *context, size_t tensor)
{
    struct heard *heard = context;
    heard->missing[heard->plan->of_tensor[tensor]]--;
    while (heard->next < heard->plan->count && heard->missing[heard->next] == 0)
        heard->next++;
}

/* Nobody reads or writes where tensors and activations are said to lie: there are no samples. */
void script_rehearse(struct script *script, const struct model *model, size_t every,
                     const struct bucket_plan *plan)
{
    static float nowhere;
    struct activations activations = {.every = every, .d = {&nowhere, &nowhere}};
    struct heard heard = {.script = script, .plan = plan};
    struct places places = {.on_layer = on_layer, .on_add = on_add, .context = &heard};
    struct model_listener listener = {.on_ready = on_ready, .context = &heard};
    struct pass nobody = {.rows = 0, .places = &places};
    *script = (struct script){0};
    for (size_t i = 0; i < plan->count; i++)
        heard.missing[i] = plan->buckets[i].tensors;
    for (size_t i = 0; i < model->tensor_count; i++)
        places.param[i] = places.grad[i] = &nowhere;
    for (size_t i = 0; i <= model->layers; i++)
        activations.a[i] = &nowhere;
    model_forward(model, NULL, &activations, &nobody);
    model_backward(model, NULL, &activations, &nobody, NULL, &listener);
}

static script_buckets bucket_of(const struct bucket_plan *plan, size_t tensor)
{
    size_t bucket = plan->of_tensor[tensor];
    return bucket == BUCKET_NONE ? 0 : (script_buckets)1 << bucket;
}

script_buckets script_needs(const struct model *model, const struct bucket_plan *plan, size_t layer,
                            script_buckets among)
{
    script_buckets needs = bucket_of(plan, model->weight_of[layer]);
    if (model->bias)
        needs |= bucket_of(plan, model->bias_of[layer]);
    return needs & among;
}

void script_here(const struct script *script, const struct model *model,
                 const struct bucket_plan *plan, script_buckets among, script_buckets *here_with)
{
    for (size_t i = 0; i < MODEL_TENSORS_MOST; i++)
        here_with[i] = 0;
    for (size_t i = 0; i < script->use_count; i++) {
        size_t next = i + 1 < script->use_count ? script->uses[i + 1] : script->uses[i];
        meet(here_with, script_needs(model, plan, script->uses[i], among) |
                            script_needs(model, plan, next, among));
    }
}
