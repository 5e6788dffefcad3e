/*
 * fuzz_tensorfile: any bytes as a safetensors file.
 *
 * Promises: the tensors of an accepted file tile its data, each name is there once and is found, the
 * values are the file's bytes and none can be read past a tensor's end; and our writer, told the
 * same, writes a file that says the same.
 */
#include "common/tensorfile.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static const char *entry_broken(const struct tensorfile_reader *reader, size_t index, size_t end)
{
    const struct tensorfile_entry *entry = tensorfile_at(reader, index);
    struct fail fail = {0};
    float value;
    size_t product = 1;
    if (entry->dimensions > TENSORFILE_DIMENSIONS_MOST)
        return "a tensor has at most four dimensions";
    for (size_t i = 0; i < entry->dimensions; i++)
        product *= entry->shape[i];
    if (entry->count != product)
        return "a tensor's count is the product of its shape";
    if (entry->offset_bytes != end)
        return "a tensor begins where the one before ends";
    if (tensorfile_find(reader, entry->name) != entry)
        return "a name is there once, and is found";
    if (tensorfile_read(reader, entry, entry->count, &value, 1, &fail) == 0)
        return "nothing is read past a tensor's end";
    return NULL;
}

/* Reads the whole data, tensor after tensor. */
static const char *values_broken(const struct tensorfile_reader *reader, float *values,
                                 const uint8_t *data, size_t size)
{
    struct fail fail = {0};
    size_t end = 0;
    for (size_t i = 0; i < tensorfile_count(reader); i++) {
        const struct tensorfile_entry *entry = tensorfile_at(reader, i);
        const char *broken = entry_broken(reader, i, end * sizeof(float));
        if (broken)
            return broken;
        if (entry->count > size / sizeof(float) - end)
            return "the tensors fit into their file";
        if (tensorfile_read(reader, entry, 0, values + end, entry->count, &fail) != 0)
            return "what a header says can be read";
        end += entry->count;
    }
    const uint8_t *last = data + size - end * sizeof(float);
    return memcmp(values, last, end * sizeof(float)) == 0 ? NULL
                                                          : "values are the bytes of the file";
}

static int write_again(const struct tensorfile_reader *reader, const float *values,
                       const char *path, struct fail *fail)
{
    struct tensorfile_writer *writer = tensorfile_new();
    size_t count = tensorfile_count(reader);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct tensorfile_entry *entry = tensorfile_at(reader, i);
        code = tensorfile_declare(writer, entry->name, entry->shape, entry->dimensions, fail);
    }
    if (code == 0)
        code = tensorfile_begin(writer, path, fail);
    for (size_t i = 0; code == 0 && i < count; i++) {
        size_t part = tensorfile_at(reader, i)->count;
        code = tensorfile_write(writer, values, part, fail);
        values += part;
    }
    if (code == 0)
        code = tensorfile_commit(writer, fail);
    tensorfile_discard(writer);
    return code;
}

/* `back` has room for the values of any tensor. */
static bool are_equal(const struct tensorfile_reader *a, const struct tensorfile_reader *b,
                      const float *values, float *back)
{
    struct fail fail = {0};
    if (tensorfile_count(a) != tensorfile_count(b))
        return false;
    for (size_t i = 0; i < tensorfile_count(a); i++) {
        const struct tensorfile_entry *x = tensorfile_at(a, i);
        const struct tensorfile_entry *y = tensorfile_find(b, x->name);
        if (!y || x->dimensions != y->dimensions || x->offset_bytes != y->offset_bytes ||
            memcmp(x->shape, y->shape, x->dimensions * sizeof *x->shape) != 0)
            return false;
        if (tensorfile_read(b, y, 0, back, y->count, &fail) != 0 ||
            memcmp(back, values + x->offset_bytes / sizeof(float), y->count * sizeof(float)) != 0)
            return false;
    }
    return true;
}

static const char *rewritten_broken(struct scratch *scratch, const struct tensorfile_reader *reader,
                                    const float *values, float *back)
{
    char path[SCRATCH_PATH_BYTES];
    struct tensorfile_reader *again;
    struct fail fail = {0};
    scratch_place(scratch, "again.safetensors", path);
    if (write_again(reader, values, path, &fail) != 0)
        return "what can be read can be written";
    if (tensorfile_open(&again, path, &fail) != 0)
        return "what we write can be read";
    bool equal = are_equal(reader, again, values, back);
    tensorfile_close(again);
    return equal ? NULL : "what is written says what was read";
}

static const char *content_broken(struct scratch *scratch, const struct tensorfile_reader *reader,
                                  const uint8_t *data, size_t size)
{
    float *values = calloc(size / sizeof(float) + 1, sizeof *values);
    float *back = calloc(size / sizeof(float) + 1, sizeof *back);
    const char *broken = "a small file needs little memory";
    if (values && back)
        broken = values_broken(reader, values, data, size);
    if (!broken)
        broken = rewritten_broken(scratch, reader, values, back);
    free(values);
    free(back);
    return broken;
}

struct verdict fuzz_tensorfile(const uint8_t *data, size_t size)
{
    struct scratch scratch;
    char path[SCRATCH_PATH_BYTES];
    struct tensorfile_reader *reader;
    struct fail fail = {0};
    scratch_open(&scratch);
    scratch_write(&scratch, "t.safetensors", data, size, path);
    int code = tensorfile_open(&reader, path, &fail);
    struct verdict verdict = {.accepted = true};
    if (code != 0)
        verdict = target_refused(code, &fail, path);
    else
        verdict.broken = content_broken(&scratch, reader, data, size);
    tensorfile_close(reader);
    if (scratch_close(&scratch) != 0 && !verdict.broken)
        verdict.broken = "neither reader nor writer leaves a file behind";
    return verdict;
}
