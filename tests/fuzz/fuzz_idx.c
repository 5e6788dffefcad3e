/*
 * fuzz_idx: any bytes as the two files of an IDX folder.
 *
 *     | length of the images 2 | images ...... | labels ... |
 *
 * Either file may be gzip. Promises: an accepted folder has as many images as labels, its pixels and
 * labels are the files' bytes, and the data set made from it is whole.
 */
#include "common/bytes.h"
#include "common/idx.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/tables.h"

enum { LENGTH_BYTES = 2, IMAGES_HEADER_BYTES = 16, LABELS_HEADER_BYTES = 8, WHITE = 255 };

/* The paths of the images and the labels. */
struct paths {
    char images[SCRATCH_PATH_BYTES], labels[SCRATCH_PATH_BYTES];
};

static uint32_t field(const uint8_t *bytes, size_t index)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++)
        value = value << 8 | bytes[4 * index + i];
    return value;
}

static bool holds(const struct table *table, const struct bytes *images, const struct bytes *labels)
{
    size_t pixels = table->count * table->width;
    if (images->count != IMAGES_HEADER_BYTES + pixels ||
        labels->count != LABELS_HEADER_BYTES + table->count)
        return false;
    if (table->count != field(images->data, 1) || table->count != field(labels->data, 1) ||
        table->width != (size_t)field(images->data, 2) * field(images->data, 3))
        return false;
    for (size_t i = 0; i < pixels; i++)
        if (table->features[i] != (float)images->data[IMAGES_HEADER_BYTES + i] / WHITE)
            return false;
    for (size_t i = 0; i < table->count; i++)
        if (table->targets[i] != (float)labels->data[LABELS_HEADER_BYTES + i])
            return false;
    return true;
}

static const char *content_broken(const struct table *table, const struct paths *paths)
{
    struct bytes images = {0}, labels = {0};
    struct fail fail = {0};
    const char *broken = NULL;
    if (bytes_read(&images, paths->images, SIZE_MAX, NULL, &fail) != 0 ||
        bytes_read(&labels, paths->labels, SIZE_MAX, NULL, &fail) != 0)
        broken = "what was read once is read again";
    else if (!holds(table, &images, &labels))
        broken = "a table holds its files' pixels and labels";
    bytes_release(&images);
    bytes_release(&labels);
    return broken;
}

static void write_folder(struct scratch *scratch, struct paths *paths, const uint8_t *data,
                         size_t size)
{
    size_t rest = size < LENGTH_BYTES ? 0 : size - LENGTH_BYTES;
    size_t length = size < LENGTH_BYTES ? 0 : data[0] | (size_t)data[1] << 8;
    const uint8_t *images = rest > 0 ? data + LENGTH_BYTES : data;
    length = length < rest ? length : rest;
    scratch_write(scratch, "train-images-idx3-ubyte", images, length, paths->images);
    scratch_write(scratch, "train-labels-idx1-ubyte", images + length, rest - length,
                  paths->labels);
}

struct verdict fuzz_idx(const uint8_t *data, size_t size)
{
    struct scratch scratch;
    struct paths paths;
    struct table table = {0};
    struct memory memory = {0};
    struct fail fail = {0};
    scratch_open(&scratch);
    write_folder(&scratch, &paths, data, size);
    int code = idx_read(&table, scratch.path, false, &memory, &fail);
    struct verdict verdict = {.accepted = true};
    if (code != 0)
        verdict = target_refused(code, &fail, scratch.path);
    else
        verdict.broken = tables_broken(&table, &memory);
    if (code == 0 && !verdict.broken)
        verdict.broken = content_broken(&table, &paths);
    if (code == 0 && !verdict.broken)
        verdict.broken = tables_load_broken(scratch.path, table.count);
    table_release(&table);
    if (!verdict.broken && memory.now_bytes[MEMORY_BUFFERS] != 0)
        verdict.broken = "a table gives all its memory back";
    if (scratch_close(&scratch) != 0 && !verdict.broken)
        verdict.broken = "a reader leaves no file behind";
    return verdict;
}
