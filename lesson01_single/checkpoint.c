/* checkpoint: stop here, go on there, and nobody can tell. See the header. */
#include "lesson01_single/checkpoint.h"
#include "common/tensorfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char FORMAT[] = "staircase-checkpoint-1";

enum { PATH_BYTES = 4096, SETTINGS = 8, VALUE_BYTES = 32 };

/* What must be the same for the run that goes on. */
struct setting {
    const char *key, *flag;
    char value[VALUE_BYTES];
};

static void set(struct setting *setting, const char *key, const char *flag, uint64_t value)
{
    setting->key = key;
    setting->flag = flag;
    snprintf(setting->value, sizeof setting->value, "%" PRIu64, value);
}

static void settings_of(const struct checkpoint *checkpoint, struct setting settings[SETTINGS])
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

static void path_of(char path[PATH_BYTES], const char *directory)
{
    snprintf(path, PATH_BYTES, "%s/checkpoint.safetensors", directory);
}

/* --- saving ---------------------------------------------------------------------------------- */

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
    char updates[VALUE_BYTES];
    snprintf(updates, sizeof updates, "%zu", checkpoint->optimizer->updates);
    settings_of(checkpoint, settings);
    int error = tensorfile_meta(writer, "format", FORMAT, fail);
    if (!error)
        error = tensorfile_meta(writer, "updates", updates, fail);
    for (size_t i = 0; i < SETTINGS && !error; i++)
        error = tensorfile_meta(writer, settings[i].key, settings[i].value, fail);
    return error;
}

static int begin_file(struct tensorfile_writer *writer, const struct checkpoint *checkpoint,
                      struct fail *fail)
{
    const struct optimizer *optimizer = checkpoint->optimizer;
    char path[PATH_BYTES];
    path_of(path, checkpoint->options->save);
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

/* --- loading --------------------------------------------------------------------------------- */

static const struct tensorfile_entry *find(const struct tensorfile_reader *reader, const char *kind,
                                           const struct tensor *tensor)
{
    char name[TENSORFILE_NAME_BYTES];
    snprintf(name, sizeof name, "%s%s%s", kind, *kind ? "." : "", tensor->name);
    return tensorfile_find(reader, name);
}

static bool same_shape(const struct tensorfile_entry *entry, const struct tensor *tensor)
{
    if (entry->dimensions != tensor->dimensions)
        return false;
    for (size_t i = 0; i < entry->dimensions; i++)
        if (entry->shape[i] != tensor->shape[i])
            return false;
    return true;
}

/* The part of a tensor, from the file, to `values`. */
static int read_part(const struct tensorfile_reader *reader, const struct tensorfile_entry *entry,
                     const struct tensor *tensor, struct slice part, float *values,
                     struct fail *fail)
{
    if (!entry)
        return fail_set(fail, -EINVAL,
                        "the file has nothing for %s (another model, or frozen in it?)",
                        tensor->name);
    if (!same_shape(entry, tensor))
        return fail_set(fail, -EINVAL,
                        "%s has %zu values of another shape in the file; this model needs "
                        "(%zu%s%.0zu): give the --hidden it was made with",
                        entry->name, entry->count, tensor->shape[0],
                        tensor->dimensions == 2 ? ", " : "", tensor->shape[1]);
    return tensorfile_read(reader, entry, part.begin - tensor->slice.begin, values, part.count,
                           fail);
}

static int read_tensors(const struct tensorfile_reader *reader, const struct checkpoint *checkpoint,
                        struct fail *fail)
{
    const struct optimizer *optimizer = checkpoint->optimizer;
    int error = 0;
    for (size_t i = 0; i < optimizer->model->tensor_count && !error; i++) {
        const struct tensor *tensor = &optimizer->model->tensors[i];
        size_t state;
        struct slice part = optimizer_part(optimizer, tensor, &state);
        error = read_part(reader, find(reader, "param", tensor), tensor, tensor->slice,
                          checkpoint->param + tensor->slice.begin, fail);
        for (size_t j = 0; j < optimizer->states && !tensor->frozen && !error; j++)
            error = read_part(reader, find(reader, optimizer_state_name(optimizer, j), tensor),
                              tensor, part, optimizer->state[j] + state, fail);
    }
    return error;
}

static int check_settings(const struct tensorfile_reader *reader,
                          const struct checkpoint *checkpoint, struct fail *fail)
{
    struct setting settings[SETTINGS];
    const char *format = tensorfile_meta_find(reader, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        return fail_set(fail, -EINVAL, "format is '%s', not %s: not a checkpoint of this course",
                        format ? format : "(none)", FORMAT);
    settings_of(checkpoint, settings);
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *saved = tensorfile_meta_find(reader, settings[i].key);
        if (!saved || strcmp(saved, settings[i].value) != 0)
            return fail_set(
                fail, -EINVAL, "saved with %s = %s, but this run has %s: give the same %s",
                settings[i].key, saved ? saved : "(none)", settings[i].value, settings[i].flag);
    }
    return 0;
}

/* Has the model a tensor for "kind.name", or for a bare "name"? */
static bool belongs(const struct tensorfile_entry *entry, const struct model *model)
{
    const char *dot = strchr(entry->name, '.');
    for (size_t i = 0; i < model->tensor_count && dot; i++) {
        const char *name = model->tensors[i].name;
        if (strcmp(dot + 1, name) == 0 || strcmp(entry->name, name) == 0)
            return true;
    }
    return false;
}

/* A deeper network's file holds all that a shallower one looks for, and more. */
static int check_tensors(const struct tensorfile_reader *reader, const struct model *model,
                         struct fail *fail)
{
    for (size_t i = 0; i < tensorfile_count(reader); i++) {
        const struct tensorfile_entry *entry = tensorfile_at(reader, i);
        if (!belongs(entry, model))
            return fail_set(fail, -EINVAL,
                            "the file holds %s, which this model does not have: give the "
                            "--hidden, --no-bias and --tie it was made with",
                            entry->name);
    }
    return 0;
}

static int read_updates(const struct tensorfile_reader *reader, size_t *updates, struct fail *fail)
{
    const char *text = tensorfile_meta_find(reader, "updates");
    char *end = NULL;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end != '\0')
        return fail_set(fail, -EINVAL, "updates is '%s', not a number", text ? text : "(none)");
    *updates = (size_t)value;
    return 0;
}

/* Puts the file's name in front of what is wrong with it. */
static int name_file(const char *path, const struct fail *inner, struct fail *fail)
{
    if (strstr(inner->text, path))
        return fail_set(fail, inner->code, "%s", inner->text);
    return fail_set(fail, inner->code, "%s: %s", path, inner->text);
}

bool checkpoint_exists(const char *directory)
{
    char path[PATH_BYTES];
    path_of(path, directory);
    return access(path, F_OK) == 0;
}

int checkpoint_load(const struct checkpoint *checkpoint, const char *directory, struct fail *fail)
{
    char path[PATH_BYTES];
    struct fail inner = {0};
    struct tensorfile_reader *reader = NULL;
    path_of(path, directory);
    int error = tensorfile_open(&reader, path, &inner);
    if (!error)
        error = check_settings(reader, checkpoint, &inner);
    if (!error)
        error = read_updates(reader, &checkpoint->optimizer->updates, &inner);
    if (!error)
        error = check_tensors(reader, checkpoint->optimizer->model, &inner);
    if (!error)
        error = read_tensors(reader, checkpoint, &inner);
    tensorfile_close(reader);
    return error ? name_file(path, &inner, fail) : 0;
}

int checkpoint_load_parameters(const char *path, const struct model *model, float *param,
                               struct fail *fail)
{
    struct fail inner = {0};
    struct tensorfile_reader *reader = NULL;
    int error = tensorfile_open(&reader, path, &inner);
    if (!error)
        error = check_tensors(reader, model, &inner);
    for (size_t i = 0; i < model->tensor_count && !error; i++) {
        const struct tensor *tensor = &model->tensors[i];
        const struct tensorfile_entry *entry = find(reader, "param", tensor);
        error = read_part(reader, entry ? entry : find(reader, "", tensor), tensor, tensor->slice,
                          param + tensor->slice.begin, &inner);
    }
    tensorfile_close(reader);
    return error ? name_file(path, &inner, fail) : 0;
}
