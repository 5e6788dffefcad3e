/* checkpoint_counts: a checkpoint's whole numbers and settings, and where they come from. */
#include "lesson01_single/checkpoint_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void set(struct setting *setting, const char *key, const char *flag, uint64_t value)
{
    setting->key = key;
    setting->flag = flag;
    snprintf(setting->value, sizeof setting->value, "%" PRIu64, value);
}

void checkpoint_settings(const struct checkpoint *checkpoint, struct setting settings[SETTINGS])
{
    static const char *const kinds[] = {"sgd", "adam", "adamw"};
    const struct sampler *sampler = checkpoint->sampler;
    const struct optimizer *optimizer = checkpoint->optimizer;
    set(&settings[0], "seed", "--seed", sampler->seed);
    set(&settings[1], "batch", "--batch", sampler->batch);
    set(&settings[2], "accumulate", "--accumulate", sampler->accumulate);
    set(&settings[3], "shuffle", "--no-shuffle", sampler->shuffle);
    set(&settings[4], "drop_last", "--drop-last", sampler->drop_last);
    set(&settings[5], "samples", "--data", sampler->count);
    set(&settings[6], "optimizer", "--optimizer", 0);
    snprintf(settings[6].value, sizeof settings[6].value, "%s", kinds[optimizer->kind]);
    set(&settings[7], "states", "--momentum",
        optimizer->states); // after the optimizer: it follows it
    set(&settings[8], "generator", "program", 0);
    snprintf(settings[8].value, sizeof settings[8].value, "philox4x32-10");
}

const char *checkpoint_kind(const struct checkpoint *checkpoint, size_t kind)
{
    return kind == 0 ? "param" : optimizer_state_name(checkpoint->optimizer, kind - 1);
}

/* The epoch that update `updates` is of, and the first of its samples in the epoch's order. */
static void find_position(const struct checkpoint *checkpoint, struct inventory *inventory)
{
    struct step next = sampler_step(checkpoint->sampler, inventory->updates);
    inventory->epoch = next.epoch;
    inventory->position = next.samples.begin;
}

static void write_counts(const struct checkpoint *checkpoint, struct inventory *inventory)
{
    const struct loss_scale *scale = checkpoint->scale;
    inventory->updates = checkpoint->optimizer->updates;
    inventory->skipped = checkpoint->optimizer->skipped;
    find_position(checkpoint, inventory);
    if (!scale || !scale->dynamic)
        return;
    inventory->loss_scale = (size_t)scale->value;
    inventory->good_updates = scale->good;
}

static void describe_tensors(const struct model *model, struct inventory *inventory)
{
    inventory->tensor_count = model->tensor_count;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct tensor *tensor = &model->tensors[i];
        struct inventory_tensor *out = &inventory->tensors[i];
        snprintf(out->name, sizeof out->name, "%s", tensor->name);
        out->dimensions = tensor->dimensions;
        for (size_t d = 0; d < tensor->dimensions; d++)
            out->shape[d] = tensor->shape[d];
        out->count = tensor->slice.count;
    }
}

void checkpoint_describe(const struct checkpoint *checkpoint, struct inventory *inventory)
{
    struct setting settings[SETTINGS];
    inventory->lesson = (size_t)checkpoint->options->lesson;
    inventory->stage = inventory->lesson == 4 ? (size_t)checkpoint->options->stage : 0;
    inventory->world = (size_t)checkpoint->world;
    write_counts(checkpoint, inventory);
    checkpoint_settings(checkpoint, settings);
    inventory->setting_count = SETTINGS;
    for (size_t i = 0; i < SETTINGS; i++) {
        struct inventory_setting *out = &inventory->settings[i];
        snprintf(out->key, sizeof out->key, "%s", settings[i].key);
        snprintf(out->value, sizeof out->value, "%s", settings[i].value);
    }
    inventory->kind_count = 1 + checkpoint->optimizer->states;
    for (size_t i = 0; i < inventory->kind_count; i++)
        snprintf(inventory->kinds[i], sizeof inventory->kinds[i], "%s",
                 checkpoint_kind(checkpoint, i));
    describe_tensors(checkpoint->optimizer->model, inventory);
}

/* A checkpoint of a run without a dynamic scale leaves the scale as it is. */
static int read_scale(struct loss_scale *scale, const struct inventory *inventory,
                      struct fail *fail)
{
    size_t value = inventory->loss_scale;
    if (value > LOSS_SCALE_MOST || (value & (value - 1)) != 0)
        return fail_set(fail, -EINVAL, "loss_scale is %zu, no power of two up to %d", value,
                        LOSS_SCALE_MOST);
    if (inventory->good_updates >= LOSS_SCALE_INTERVAL)
        return fail_set(fail, -EINVAL, "good_updates is %zu; it can be %d at most",
                        inventory->good_updates, LOSS_SCALE_INTERVAL - 1);
    if (!scale->dynamic || value == 0)
        return 0;
    scale->value = (float)value;
    scale->good = inventory->good_updates;
    return 0;
}

int checkpoint_counts_read(const struct checkpoint *checkpoint, const struct inventory *inventory,
                           struct fail *fail)
{
    struct inventory expected = {.updates = inventory->updates};
    find_position(checkpoint, &expected);
    if (inventory->skipped > inventory->updates)
        return fail_set(fail, -EINVAL, "skipped is %zu; it can be %zu at most", inventory->skipped,
                        inventory->updates);
    if (inventory->epoch != expected.epoch || inventory->position != expected.position)
        return fail_set(
            fail, -EINVAL,
            "it stands at sample %zu of epoch %zu; after %zu updates that is sample %zu "
            "of epoch %zu",
            inventory->position, inventory->epoch, inventory->updates, expected.position,
            expected.epoch);
    checkpoint->optimizer->updates = inventory->updates;
    checkpoint->optimizer->skipped = inventory->skipped;
    return checkpoint->scale ? read_scale(checkpoint->scale, inventory, fail) : 0;
}
