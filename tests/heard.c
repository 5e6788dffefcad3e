/* heard: what a model's backward announces, in its order. See the header. */
#include "tests/heard.h"

static void on_ready(void *context, size_t tensor)
{
    struct heard *heard = context;
    heard->tensors[heard->count++] = tensor;
}

static void on_unused(void *context, size_t tensor)
{
    struct heard *heard = context;
    heard->unused[tensor] = true;
    on_ready(context, tensor);
}

struct model_listener heard_listener(struct heard *heard)
{
    return (struct model_listener){.on_ready = on_ready, .on_unused = on_unused, .context = heard};
}
