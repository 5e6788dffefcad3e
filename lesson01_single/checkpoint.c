/* checkpoint: stop here, go on there, and nobody can tell. See the header. */
#include "lesson01_single/checkpoint_inside.h"
#include "lesson01_single/checkpoint_counts.h"
#include "common/tensorfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

const char CHECKPOINT_FORMAT[] = "staircase-checkpoint-1";

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
    snprintf(settings[6].value, VALUE_BYTES, "%s", kinds[optimizer->kind]);
    set(&settings[7], "states", "--momentum", optimizer->states); // last: it follows the optimizer
}

void checkpoint_path(char path[PATH_BYTES], const char *directory)
{
    snprintf(path, PATH_BYTES, "%s/checkpoint.safetensors", directory);
}

/* A frozen tensor has no state. */
static int declare_kind(struct tensorfile_writer *writer, const char *kind, bool frozen,
                        const struct model *model, struct fail *fail)
{
    int error = 0;
    for (size_t i = 0; i < model->tensor_count && !error; i++) {
        const struct tensor *tensor = &model->tensors[i];
        if (tensor->frozen && !frozen)
            continue;
        char name[TENSORFILE_NAME_BYTES];
        snprintf(name, sizeof name, "%s.%s", kind, tensor->name);
        error = tensorfile_declare(writer, name, tensor->shape, tensor->dimensions, fail);
    }
    return error;
}

static int describe(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                    struct fail *fail)
{
    struct setting settings[SETTINGS];
    struct checkpoint_counts counts = {checkpoint->optimizer, checkpoint->scale};
    checkpoint_settings(checkpoint, settings);
    int error = tensorfile_meta(writer, "format", CHECKPOINT_FORMAT, fail);
    if (!error)
        error = checkpoint_counts_write(&counts, writer, fail);
    for (size_t i = 0; i < SETTINGS && !error; i++)
        error = tensorfile_meta(writer, settings[i].key, settings[i].value, fail);
    return error;
}

static int begin_file(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                      struct fail *fail)
{
    const struct optimizer *optimizer = checkpoint->optimizer;
    char path[PATH_BYTES];
    checkpoint_path(path, checkpoint->options->save);
    int error = describe(writer, checkpoint, fail);
    if (!error)
        error = declare_kind(writer, "param", true, optimizer->model, fail);
    for (size_t i = 0; i < optimizer->states && !error; i++)
        error =
            declare_kind(writer, optimizer_state_name(optimizer, i), false, optimizer->model, fail);
    return error ? error : tensorfile_begin(writer, path, fail);
}

static int write_slab(struct tensorfile_writer *writer, const float *slab,
                      const struct model *model, struct fail *fail)
{
    int error = 0;
    for (size_t i = 0; i < model->tensor_count && !error; i++)
        error = tensorfile_write(writer, slab + model->tensors[i].slice.begin,
                                 model->tensors[i].slice.count, fail);
    return error;
}

/* State i of each tensor: where this rank owns it, or, gathered, in a slab. */
static int write_state(struct tensorfile_writer *writer, const struct optimizer *optimizer,
                       size_t i, const float *slab, struct fail *fail)
{
    const struct model *model = optimizer->model;
    int error = 0;
    for (size_t j = 0; j < model->tensor_count && !error; j++) {
        const struct tensor *tensor = &model->tensors[j];
        size_t at = tensor->slice.begin;
        if (tensor->frozen)
            continue;
        if (!slab)
            optimizer_part(optimizer, tensor, &at);
        error = tensorfile_write(writer, (slab ? slab : optimizer->state[i]) + at,
                                 tensor->slice.count, fail);
    }
    return error;
}

/* The ranks that do not write take part too: gathering a state is everybody's work. */
static int write_states(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                        struct fail *fail)
{
    const struct optimizer *optimizer = checkpoint->optimizer;
    int error = 0;
    for (size_t i = 0; i < optimizer->states && !error; i++) {
        const float *slab = NULL;
        if (checkpoint->gather)
            error = checkpoint->gather(checkpoint->context, i, &slab, fail);
        if (!error && writer)
            error = write_state(writer, optimizer, i, slab, fail);
    }
    return error;
}

int checkpoint_save(const struct checkpoint *checkpoint, struct fail *fail)
{
    const struct model *model = checkpoint->optimizer->model;
    struct tensorfile_writer *writer = NULL;
    int error = 0;
    if (checkpoint->writes) {
        writer = tensorfile_new();
        error = writer ? begin_file(writer, checkpoint, fail)
                       : fail_set(fail, -ENOMEM, "no memory to save a checkpoint");
        if (!error)
            error = write_slab(writer, checkpoint->param, model, fail);
    }
    if (!error)
        error = write_states(writer, checkpoint, fail);
    if (!error && writer)
        error = tensorfile_commit(writer, fail);
    tensorfile_discard(writer);
    return error;
}
