/* drawn: models, bucket plans and flags, from a check's numbers. See the header. */
#include "tests/grade/drawn.h"

#include <stdio.h>
#include <string.h>

struct drawn drawn_flags(struct grade *grade, size_t hidden, const char *more)
{
    struct drawn drawn = {.grade = grade};
    size_t used = (size_t)snprintf(drawn.arguments, DRAWN_TEXT_BYTES, "--hidden ");
    for (size_t i = 0; i < hidden; i++)
        used += (size_t)snprintf(drawn.arguments + used, DRAWN_TEXT_BYTES - used, "%s%zu",
                                 i ? "," : "", grade_draw(grade, 3, 9));
    snprintf(drawn.arguments + used, DRAWN_TEXT_BYTES - used, " %s", more);
    return drawn;
}

struct model drawn_model(struct grade *grade, size_t layers_most)
{
    struct model model;
    size_t widths[MODEL_LAYERS_MOST + 1], layers = grade_draw(grade, 1, layers_most);
    for (size_t i = 0; i <= layers; i++)
        widths[i] = grade_draw(grade, 1, 12);
    model_plan(&model, widths, layers, grade_draw(grade, 0, 3) > 0);
    return model;
}

struct bucket_plan drawn_plan(struct grade *grade, const struct model *model)
{
    struct bucket_plan plan = {.order = bucket_order_reverse(model)};
    for (size_t i = 0; i < plan.order.count; i++) {
        size_t tensor = plan.order.tensors[i];
        if (i == 0 || grade_draw(grade, 0, 1))
            plan.count++;
        struct bucket *bucket = &plan.buckets[plan.count - 1];
        bucket->tensors++;
        bucket->slice.begin = model->tensors[tensor].slice.begin;
        bucket->slice.count += model->tensors[tensor].slice.count;
        plan.of_tensor[tensor] = plan.count - 1;
    }
    return plan;
}

struct bucket_order drawn_order(struct grade *grade, const struct model *model)
{
    struct bucket_order order = {.count = model->tensor_count};
    for (size_t i = 0; i < order.count; i++) {
        size_t at = grade_draw(grade, 0, i);
        order.tensors[i] = order.tensors[at];
        order.tensors[at] = i;
    }
    return order;
}
