/* tie: one weight in several layers. See the header. */
#include "lesson01_single/tie.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const char *pair; // "fc3=fc2,...": the one at hand
    int length;       // of it, without what follows
    const size_t *widths;
    size_t layers;
    size_t *weight_from;
    struct fail *fail;
};

static int refuse(const struct reading *reading)
{
    return fail_set(reading->fail, -EINVAL,
                    "--tie: expected fcA=fcB[,...], where fcA is to use fcB's weight, and layers "
                    "fc1 to fc%zu; found '%.*s'",
                    reading->layers, reading->length, reading->pair);
}

/* The layer that "fcN" names, from 0, and `length` characters of it; `layers` when there is none. */
static size_t layer_of(const struct reading *reading, const char *name, size_t length)
{
    for (size_t layer = 0; layer < reading->layers; layer++) {
        char own[24];
        size_t letters = (size_t)snprintf(own, sizeof own, "fc%zu", layer + 1);
        if (letters == length && strncmp(own, name, length) == 0)
            return layer;
    }
    return reading->layers;
}

static int check_pair(const struct reading *reading, size_t layer, size_t from)
{
    const size_t *widths = reading->widths, *tied = reading->weight_from;
    if (layer == from || tied[layer] != layer)
        return fail_set(reading->fail, -EINVAL, "--tie %.*s: fc%zu uses fc%zu's weight already",
                        reading->length, reading->pair, layer + 1, tied[layer] + 1);
    if (tied[from] != from)
        return fail_set(
            reading->fail, -EINVAL,
            "--tie %.*s: fc%zu has no weight of its own, it uses fc%zu's: name that one",
            reading->length, reading->pair, from + 1, tied[from] + 1);
    for (size_t i = 0; i < reading->layers; i++)
        if (i != layer && tied[i] == layer)
            return fail_set(reading->fail, -EINVAL,
                            "--tie %.*s: fc%zu's weight is used by fc%zu: let that one use fc%zu's "
                            "too",
                            reading->length, reading->pair, layer + 1, i + 1, from + 1);
    if (widths[layer] != widths[from] || widths[layer + 1] != widths[from + 1])
        return fail_set(reading->fail, -EINVAL,
                        "--tie %.*s: fc%zu's weight is (%zu, %zu) and fc%zu's is (%zu, %zu): only "
                        "one shape can be one weight",
                        reading->length, reading->pair, layer + 1, widths[layer + 1], widths[layer],
                        from + 1, widths[from + 1], widths[from]);
    return 0;
}

static int read_pair(const struct reading *reading)
{
    size_t length = (size_t)reading->length;
    const char *equals = memchr(reading->pair, '=', length);
    if (!equals)
        return refuse(reading);
    size_t left = (size_t)(equals - reading->pair);
    size_t layer = layer_of(reading, reading->pair, left);
    size_t from = layer_of(reading, equals + 1, length - left - 1);
    if (layer == reading->layers || from == reading->layers)
        return refuse(reading);
    int error = check_pair(reading, layer, from);
    if (!error)
        reading->weight_from[layer] = from;
    return error;
}

int tie_read(const char *text, const size_t *widths, size_t layers, size_t *weight_from,
             struct fail *fail)
{
    struct reading reading = {
        .widths = widths, .layers = layers, .weight_from = weight_from, .fail = fail};
    int error = 0;
    for (size_t layer = 0; layer < layers; layer++)
        weight_from[layer] = layer;
    while (text && !error) {
        reading.pair = text;
        reading.length = (int)strcspn(text, ",");
        error = read_pair(&reading);
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return error;
}
