/* checkpoint_init: begin with another run's parameters. Nothing is taken from a file that is not of this
 * model. See checkpoint.h. */
#include "lesson01_single/checkpoint.h"
#include "common/tensorfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    if (part.count == 0)
        return 0;
    return tensorfile_read(reader, entry, part.begin - tensor->slice.begin, values, part.count,
                           fail);
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

/* Puts the file's name in front of what is wrong with it. */
static int name_file(const char *path, const struct fail *inner, struct fail *fail)
{
    if (strstr(inner->text, path))
        return fail_set(fail, inner->code, "%s", inner->text);
    return fail_set(fail, inner->code, "%s: %s", path, inner->text);
}

int checkpoint_load_parameters(const char *path, const struct model *model, struct slice slice,
                               float *values, struct fail *fail)
{
    struct fail inner = {0};
    struct tensorfile_reader *reader = NULL;
    int error = tensorfile_open(&reader, path, &inner);
    if (!error)
        error = check_tensors(reader, model, &inner);
    for (size_t i = 0; i < model->tensor_count && !error; i++) {
        const struct tensor *tensor = &model->tensors[i];
        const struct tensorfile_entry *entry = find(reader, "param", tensor);
        struct slice part = slice_overlap(tensor->slice, slice);
        error = read_part(reader, entry ? entry : find(reader, "", tensor), tensor, part,
                          values + (part.begin - slice.begin), &inner);
    }
    tensorfile_close(reader);
    return error ? name_file(path, &inner, fail) : 0;
}
