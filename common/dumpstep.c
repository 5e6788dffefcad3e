/* dumpstep: the files of all ranks at one step. See the header. */
#include "common/dumpstep.h"
#include "common/whole.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In the order of cause and effect within a step, so that the first difference comes first. */
static const char *const kinds[] = {"grad", "momentum", "adam_m", "adam_v", "param"};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t dumptensor_kind_length(const struct dumptensor *tensor)
{
    return strcspn(tensor->name, ".");
}

static size_t kind_index(const struct dumptensor *tensor)
{
    size_t length = dumptensor_kind_length(tensor), i = 0;
    while (i < KINDS &&
           (strlen(kinds[i]) != length || strncmp(kinds[i], tensor->name, length) != 0))
        i++;
    return i;
}

/* Whether `right` must stand before `left`: known kinds in their order, unknown ones by name. */
static bool out_of_order(const struct dumptensor *left, const struct dumptensor *right)
{
    size_t a = kind_index(left), b = kind_index(right);
    if (a != b || a < KINDS)
        return a > b;
    size_t length = dumptensor_kind_length(left);
    length = length > dumptensor_kind_length(right) ? length : dumptensor_kind_length(right);
    return strncmp(left->name, right->name, length) > 0;
}

/* --- metadata -------------------------------------------------------------------------------- */

/* A file that says nothing is believed; one that says something else is from another run. */
static int check_said(const struct tensorfile_reader *reader, const char *key, size_t expected,
                      const char *path, struct fail *fail)
{
    uint64_t number = 0;
    const char *text = tensorfile_meta_find(reader, key);
    if (!text || (whole_read(text, &number) && number == expected))
        return 0;
    return fail_set(fail, -EINVAL, "%s: its metadata say %s %.32s, where it lies it should be %zu",
                    path, key, text, expected);
}

static int open_rank(struct dumpstep *dumpstep, size_t rank, struct fail *fail)
{
    const struct dumpset *set = dumpstep->set;
    char *path = dumpset_path(set->folder, rank, dumpstep->step);
    if (!path)
        return fail_set(fail, -ENOMEM, "out of memory while opening %s", set->folder);
    int status = tensorfile_open(&dumpstep->readers[rank], path, fail);
    if (!status)
        status = check_said(dumpstep->readers[rank], "rank", rank, path, fail);
    if (!status)
        status = check_said(dumpstep->readers[rank], "world", set->world, path, fail);
    if (!status)
        status = check_said(dumpstep->readers[rank], "step", dumpstep->step, path, fail);
    free(path);
    return status;
}

/* Where a rank's part begins; *part is false when the file does not call it one. */
static int offset_of(const struct tensorfile_reader *reader, const char *name, bool *part,
                     uint64_t *begin)
{
    char key[TENSORFILE_NAME_BYTES + 8];
    snprintf(key, sizeof key, "%s.offset", name);
    const char *text = tensorfile_meta_find(reader, key);
    *part = text != NULL;
    *begin = 0;
    return !text || whole_read(text, begin) ? 0 : -EINVAL;
}

struct slice dumpstep_held(const struct dumpstep *dumpstep, size_t rank, const char *name)
{
    bool part;
    uint64_t begin;
    const struct tensorfile_reader *reader = dumpstep->readers[rank];
    const struct tensorfile_entry *entry = tensorfile_find(reader, name);
    if (!entry || offset_of(reader, name, &part, &begin))
        return (struct slice){0, 0};
    return (struct slice){begin, entry->count};
}

/* --- the list of tensors --------------------------------------------------------------------- */

static size_t end_of(struct slice slice)
{
    return slice.begin + slice.count;
}

/* The rank that holds element `at`, `rank` if it does; the world when none does. */
static size_t holder_of(const struct dumpstep *dumpstep, size_t rank, const char *name, size_t at)
{
    for (size_t i = 0; i <= dumpstep->set->world; i++) {
        size_t tried = i == 0 ? rank : i - 1;
        struct slice held = dumpstep_held(dumpstep, tried, name);
        if (held.count && held.begin <= at && at < end_of(held))
            return tried;
    }
    return dumpstep->set->world;
}

static int take_part(struct dumptensor *tensor, const struct tensorfile_reader *reader,
                     struct fail *fail)
{
    bool part;
    uint64_t begin;
    size_t end;
    const struct tensorfile_entry *entry = tensorfile_find(reader, tensor->name);
    if (!entry)
        return 0;
    if (offset_of(reader, tensor->name, &part, &begin) ||
        __builtin_add_overflow(begin, entry->count, &end) || end > SIZE_MAX / sizeof(float))
        return fail_set(fail, -EINVAL, "%s: its offset is not a whole number, or too large",
                        tensor->name);
    tensor->sharded |= part;
    tensor->count = end > tensor->count ? end : tensor->count;
    return 0;
}

/* Every element is held by some rank. */
static int check_parts(const struct dumpstep *dumpstep, const struct dumptensor *tensor,
                       struct fail *fail)
{
    size_t at = 0;
    while (at < tensor->count) {
        size_t rank = holder_of(dumpstep, 0, tensor->name, at);
        if (rank == dumpstep->set->world)
            return fail_set(fail, -EINVAL, "%s, step %zu: no rank holds element %zu of %s",
                            dumpstep->set->folder, dumpstep->step, at, tensor->name);
        at = end_of(dumpstep_held(dumpstep, rank, tensor->name));
    }
    return 0;
}

/* Every rank holds all of it, in one shape. */
static int check_whole(const struct dumpstep *dumpstep, const struct dumptensor *tensor,
                       struct fail *fail)
{
    for (size_t rank = 0; rank < dumpstep->set->world; rank++) {
        const struct tensorfile_entry *entry =
            tensorfile_find(dumpstep->readers[rank], tensor->name);
        if (!entry)
            return fail_set(fail, -EINVAL, "%s, step %zu: rank %zu lacks %s, which others hold",
                            dumpstep->set->folder, dumpstep->step, rank, tensor->name);
        if (entry->dimensions != tensor->dimensions ||
            memcmp(entry->shape, tensor->shape, sizeof entry->shape) != 0)
            return fail_set(fail, -EINVAL,
                            "%s, step %zu: %s has another shape on rank %zu than on others",
                            dumpstep->set->folder, dumpstep->step, tensor->name, rank);
    }
    return 0;
}

static int add_tensor(struct dumpstep *dumpstep, const struct tensorfile_entry *entry,
                      struct fail *fail)
{
    struct dumptensor tensor = {.dimensions = entry->dimensions};
    memcpy(tensor.name, entry->name, sizeof tensor.name);
    memcpy(tensor.shape, entry->shape, sizeof tensor.shape);
    for (size_t rank = 0; rank < dumpstep->set->world; rank++)
        if (take_part(&tensor, dumpstep->readers[rank], fail))
            return fail->code;
    int status = tensor.sharded ? check_parts(dumpstep, &tensor, fail)
                                : check_whole(dumpstep, &tensor, fail);
    if (status)
        return status;
    struct dumptensor *more =
        realloc(dumpstep->tensors, (dumpstep->count + 1) * sizeof *dumpstep->tensors);
    if (!more)
        return fail_set(fail, -ENOMEM, "out of memory while opening %s", dumpstep->set->folder);
    dumpstep->tensors = more;
    size_t at = dumpstep->count++;
    for (; at > 0 && out_of_order(&more[at - 1], &tensor);
         at--) // equal kinds keep the file's order
        more[at] = more[at - 1];
    more[at] = tensor;
    return 0;
}

static int list_tensors(struct dumpstep *dumpstep, struct fail *fail)
{
    for (size_t rank = 0; rank < dumpstep->set->world; rank++) {
        const struct tensorfile_reader *reader = dumpstep->readers[rank];
        for (size_t i = 0; i < tensorfile_count(reader); i++) {
            const struct tensorfile_entry *entry = tensorfile_at(reader, i);
            if (!dumpstep_find(dumpstep, entry->name) && add_tensor(dumpstep, entry, fail))
                return fail->code;
        }
    }
    return 0;
}

/* --- public ---------------------------------------------------------------------------------- */

int dumpstep_open(struct dumpstep *dumpstep, const struct dumpset *set, size_t step,
                  struct fail *fail)
{
    *dumpstep = (struct dumpstep){.set = set, .step = step};
    dumpstep->readers = calloc(set->world, sizeof(struct tensorfile_reader *));
    if (!dumpstep->readers)
        return fail_set(fail, -ENOMEM, "out of memory while opening %s", set->folder);
    int status = 0;
    for (size_t rank = 0; !status && rank < set->world; rank++)
        status = open_rank(dumpstep, rank, fail);
    return status ? status : list_tensors(dumpstep, fail);
}

void dumpstep_release(struct dumpstep *dumpstep)
{
    for (size_t rank = 0; dumpstep->readers && rank < dumpstep->set->world; rank++)
        tensorfile_close(dumpstep->readers[rank]);
    free(dumpstep->readers);
    free(dumpstep->tensors);
    *dumpstep = (struct dumpstep){0};
}

const struct dumptensor *dumpstep_find(const struct dumpstep *dumpstep, const char *name)
{
    for (size_t i = 0; i < dumpstep->count; i++)
        if (strcmp(dumpstep->tensors[i].name, name) == 0)
            return &dumpstep->tensors[i];
    return NULL;
}

int dumpstep_read(const struct dumpstep *dumpstep, size_t rank, const char *name,
                  struct slice elements, float *values, struct fail *fail)
{
    for (size_t at = elements.begin; at < end_of(elements);) {
        size_t holder = holder_of(dumpstep, rank, name, at);
        if (holder == dumpstep->set->world)
            return fail_set(fail, -EINVAL, "%s: no rank holds element %zu of %s",
                            dumpstep->set->folder, at, name);
        const struct tensorfile_reader *reader = dumpstep->readers[holder];
        struct slice held = dumpstep_held(dumpstep, holder, name);
        size_t end = end_of(held) < end_of(elements) ? end_of(held) : end_of(elements);
        int status = tensorfile_read(reader, tensorfile_find(reader, name), at - held.begin,
                                     values + (at - elements.begin), end - at, fail);
        if (status)
            return status;
        at = end;
    }
    return 0;
}
