/* checkpoint_counts: the whole numbers of a checkpoint. See the header. */
#include "lesson01_single/checkpoint_counts.h"
#include "common/whole.h"

#include <errno.h>
#include <inttypes.h>

static int write_count(struct tensorfile_writer *writer, const char *key, size_t value,
                       struct fail *fail)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    return tensorfile_meta(writer, key, text, fail);
}

int checkpoint_counts_write(const struct checkpoint_counts *counts,
                            struct tensorfile_writer *writer, struct fail *fail)
{
    const struct loss_scale *scale = counts->scale;
    int error = write_count(writer, "updates", counts->optimizer->updates, fail);
    if (!error)
        error = write_count(writer, "skipped", counts->optimizer->skipped, fail);
    if (error || !scale || !scale->dynamic)
        return error;
    error = write_count(writer, "loss_scale", (size_t)scale->value, fail);
    return error ? error : write_count(writer, "good_updates", scale->good, fail);
}

static int read_count(const struct tensorfile_reader *reader, const char *key, size_t most,
                      size_t *value, struct fail *fail)
{
    const char *text = tensorfile_meta_find(reader, key);
    uint64_t read;
    if (!text || !whole_read(text, &read))
        return fail_set(fail, -EINVAL, "%s is '%s', not a number", key, text ? text : "(none)");
    if (read > most)
        return fail_set(fail, -EINVAL, "%s is %" PRIu64 "; it can be %zu at most", key, read, most);
    *value = (size_t)read;
    return 0;
}

static int read_scale(struct loss_scale *scale, const struct tensorfile_reader *reader,
                      struct fail *fail)
{
    size_t value = 0;
    int error = read_count(reader, "loss_scale", LOSS_SCALE_MOST, &value, fail);
    if (!error && (value == 0 || (value & (value - 1)) != 0))
        error = fail_set(fail, -EINVAL, "loss_scale is %zu, no power of two", value);
    if (!error)
        error = read_count(reader, "good_updates", LOSS_SCALE_INTERVAL - 1, &scale->good, fail);
    if (!error)
        scale->value = (float)value;
    return error;
}

int checkpoint_counts_read(const struct checkpoint_counts *counts,
                           const struct tensorfile_reader *reader, struct fail *fail)
{
    struct optimizer *optimizer = counts->optimizer;
    int error = read_count(reader, "updates", SIZE_MAX, &optimizer->updates, fail);
    if (!error && tensorfile_meta_find(reader, "skipped"))
        error = read_count(reader, "skipped", optimizer->updates, &optimizer->skipped, fail);
    if (error || !counts->scale)
        return error;
    if (!counts->scale->dynamic || !tensorfile_meta_find(reader, "loss_scale"))
        return 0;
    return read_scale(counts->scale, reader, fail);
}
