/* freeze: tensors that stay as they are. See the header. */
#include "lesson01_single/freeze.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 640 };

static int refuse(const struct model *model, const char *name, size_t length, struct fail *fail)
{
    char list[LIST_BYTES] = "";
    size_t at = 0;
    for (size_t i = 0; i < model->tensor_count && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
                               model->tensors[i].name);
    return fail_set(fail, -EINVAL,
                    "--freeze: there is no tensor %.*s; there are %s; a layer, as in fc1, stands "
                    "for all of its own",
                    (int)length, name, list);
}

/* Is it "fc1.weight" itself, or "fc1"? */
static bool means(const char *name, size_t length, const char *tensor)
{
    size_t layer = strcspn(tensor, ".");
    return strncmp(name, tensor, length) == 0 && (length == layer || tensor[length] == '\0');
}

/* A tied layer's weight is not there to be named; to leave it learning would surprise. */
static int check_tied(const struct model *model, const char *name, size_t length, struct fail *fail)
{
    for (size_t layer = 0; layer < model->layers; layer++) {
        char own[32];
        snprintf(own, sizeof own, "fc%zu.weight", layer + 1);
        const char *used = model_weight(model, layer)->name;
        if (strcmp(own, used) != 0 && means(name, length, own))
            return fail_set(fail, -EINVAL,
                            "--freeze %.*s: fc%zu has no weight of its own, it uses %s (--tie): "
                            "name that, and fc%zu.bias",
                            (int)length, name, layer + 1, used, layer + 1);
    }
    return 0;
}

static int freeze_name(struct model *model, const char *name, size_t length, struct fail *fail)
{
    size_t found = 0;
    int error = check_tied(model, name, length, fail);
    if (error)
        return error;
    for (size_t i = 0; i < model->tensor_count && length > 0; i++) {
        if (!means(name, length, model->tensors[i].name))
            continue;
        model->tensors[i].frozen = true;
        found++;
    }
    return found > 0 ? 0 : refuse(model, name, length, fail);
}

/* Does some tensor of the layer learn? */
static bool learns(const struct model *model, size_t layer)
{
    const struct tensor *bias = model_bias(model, layer);
    return !model_weight(model, layer)->frozen || (bias && !bias->frozen);
}

int freeze(struct model *model, const char *names, struct fail *fail)
{
    int error = 0;
    for (const char *name = names; name && !error;) {
        error = freeze_name(model, name, strcspn(name, ","), fail);
        name = strchr(name, ',');
        name = name ? name + 1 : NULL;
    }
    if (error)
        return error;
    while (model->lowest < model->layers && !learns(model, model->lowest))
        model->lowest++;
    if (model->lowest == model->layers)
        return fail_set(fail, -EINVAL, "--freeze %s leaves nothing to train", names);
    return 0;
}

size_t freeze_trained(const struct model *model, struct slice *slices)
{
    size_t count = 0, end = 0; // the end of the last slice
    for (size_t i = 0; i < model->tensor_count; i++) {
        struct slice tensor = model->tensors[i].slice;
        if (model->tensors[i].frozen)
            continue;
        if (count > 0 && tensor.begin == end)
            slices[count - 1].count += tensor.count;
        else
            slices[count++] = tensor;
        end = tensor.begin + tensor.count;
    }
    return count;
}
