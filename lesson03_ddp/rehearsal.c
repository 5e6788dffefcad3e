/* rehearsal: in which order will gradients become ready? See the header. */
#include "lesson03_ddp/rehearsal.h"

/* Backward tells. */
struct rehearsed {
    bool waited_for[MODEL_TENSORS_MOST];
    struct bucket_order order;
};

static void on_ready(void *context, size_t tensor)
{
    struct rehearsed *rehearsed = context;
    if (!rehearsed->waited_for[tensor])
        return;
    rehearsed->waited_for[tensor] = false;
    rehearsed->order.tensors[rehearsed->order.count++] = tensor;
}

struct bucket_order rehearsal(const struct run *run, const struct bucket_order *first)
{
    struct rehearsed rehearsed = {0};
    struct model_listener listener = {.on_ready = on_ready, .context = &rehearsed};
    struct activations activations = run->trainer.activations;
    struct pass nobody = {.rows = 0};
    for (size_t i = 0; i < first->count; i++)
        rehearsed.waited_for[first->tensors[i]] = true;
    model_backward(&run->model, run->param, &activations, &nobody, run->grad, &listener);
    for (size_t i = 0; i < first->count; i++)
        on_ready(&rehearsed, first->tensors[i]);
    return rehearsed.order;
}
