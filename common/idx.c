/* idx: a folder of images and labels. See the header. */
#include "common/idx.h"
#include "common/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { CLASSES = 10, WHITE = 255, FIELD_BYTES = 4 };

/* What a file begins with: its magic says what it is, and so how many sizes follow. */
struct kind {
    const char *name; // as in the files' names
    uint32_t magic;
    size_t sizes;
};

static const struct kind images = {"images-idx3-ubyte", 2051, 3};
static const struct kind labels = {"labels-idx1-ubyte", 2049, 1};

/* The file's path, with or without .gz; false where neither exists. */
static bool find(char path[TABLE_PATH_BYTES], const char *folder, const char *part,
                 const struct kind *kind)
{
    static const char *const endings[] = {"", ".gz"};
    for (size_t i = 0; i < 2; i++) {
        int length =
            snprintf(path, TABLE_PATH_BYTES, "%s/%s-%s%s", folder, part, kind->name, endings[i]);
        if (length < TABLE_PATH_BYTES && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static uint32_t field(const struct bytes *bytes, size_t index)
{
    const unsigned char *b = bytes->data + index * FIELD_BYTES;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static size_t header_bytes(const struct kind *kind)
{
    return (1 + kind->sizes) * FIELD_BYTES;
}

static const char *magic_name(uint32_t magic)
{
    return magic == images.magic ? " (images)" : magic == labels.magic ? " (labels)" : "";
}

/* The elements the header promises. False when that is more than memory could hold. */
static bool promised(const struct bytes *bytes, const struct kind *kind, size_t *elements)
{
    *elements = 1;
    for (size_t i = 1; i <= kind->sizes; i++)
        if (__builtin_mul_overflow(*elements, (size_t)field(bytes, i), elements))
            return false;
    return *elements <= SIZE_MAX / 2 / sizeof(float);
}

/* An expected magic, no size of zero, and no more elements than memory could hold. */
static int check_header(const struct bytes *bytes, const char *path, const struct kind *kind,
                        size_t *elements, struct fail *fail)
{
    size_t header = header_bytes(kind);
    if (bytes->count == 0)
        return fail_set(fail, -EINVAL, "%s: expected %s, found an empty file", path, kind->name);
    if (bytes->count >= FIELD_BYTES && field(bytes, 0) != kind->magic)
        return fail_set(fail, -EINVAL, "%s: expected the magic number %u%s, found %u%s", path,
                        kind->magic, magic_name(kind->magic), field(bytes, 0),
                        magic_name(field(bytes, 0)));
    if (bytes->count < header)
        return fail_set(fail, -EINVAL, "%s: expected a header of %zu bytes, found %zu bytes in all",
                        path, header, bytes->count);
    for (size_t i = 1; i <= kind->sizes; i++)
        if (field(bytes, i) == 0)
            return fail_set(fail, -EINVAL, "%s: expected at least one %s, found 0 in its header",
                            path,
                            i == 1   ? "sample"
                            : i == 2 ? "row of pixels"
                                     : "column of pixels");
    if (!promised(bytes, kind, elements))
        return fail_set(fail, -EINVAL, "%s: its header promises more than memory can hold", path);
    return 0;
}

/* Exactly as many bytes as the header promises; no more than one above them was read. */
static int check_length(const struct bytes *bytes, const char *path, size_t header, size_t elements,
                        struct fail *fail)
{
    size_t found = bytes->count - header;
    if (found < elements)
        return fail_set(fail, -EINVAL,
                        "%s: expected %zu bytes after the header, as its sizes say, found %zu: the "
                        "file is cut off",
                        path, elements, found);
    if (found > elements)
        return fail_set(fail, -EINVAL,
                        "%s: expected %zu bytes after the header, as its sizes say, found more: "
                        "the file is longer than it says",
                        path, elements);
    return 0;
}

/* The header by itself first, so that a small file cannot unpack to more than it promises. Then it is
 * checked again: between the two the file may have changed. */
static int read_checked(struct bytes *bytes, const char *path, const struct kind *kind,
                        struct memory *memory, struct fail *fail)
{
    size_t header = header_bytes(kind), elements = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t most = pass == 0 ? header : header + elements + 1;
        bytes_release(bytes);
        int code = bytes_read(bytes, path, most, memory, fail);
        if (code == 0)
            code = check_header(bytes, path, kind, &elements, fail);
        if (code < 0)
            return code;
    }
    return check_length(bytes, path, header, elements, fail);
}

static int tabulate(struct table *table, const struct bytes *pixels, const struct bytes *classes,
                    struct fail *fail)
{
    size_t width = (size_t)field(pixels, 2) * field(pixels, 3);
    int code = table_size(table, field(pixels, 1), width, 1, fail);
    if (code < 0)
        return code;
    const unsigned char *pixel = pixels->data + header_bytes(&images);
    const unsigned char *label = classes->data + header_bytes(&labels);
    for (size_t i = 0; i < table->count * width; i++)
        table->features[i] = (float)pixel[i] / WHITE;
    for (size_t i = 0; i < table->count; i++)
        table->targets[i] = label[i];
    return 0;
}

/* Both files of a part. The table's path is that of the labels already. */
static int read_part(struct table *table, const char *images_path, struct fail *fail)
{
    struct bytes pixels = {0}, classes = {0};
    int code = read_checked(&pixels, images_path, &images, table->memory, fail);
    if (code == 0)
        code = read_checked(&classes, table->path, &labels, table->memory, fail);
    if (code == 0 && field(&pixels, 1) != field(&classes, 1))
        code = fail_set(fail, -EINVAL, "%s holds %u images, but %s holds %u labels", images_path,
                        field(&pixels, 1), table->path, field(&classes, 1));
    if (code == 0)
        code = tabulate(table, &pixels, &classes, fail);
    bytes_release(&pixels);
    bytes_release(&classes);
    return code;
}

int idx_read(struct table *table, const char *folder, bool test, struct memory *memory,
             struct fail *fail)
{
    char images_path[TABLE_PATH_BYTES], labels_path[TABLE_PATH_BYTES];
    bool has_test =
        find(images_path, folder, "t10k", &images) || find(labels_path, folder, "t10k", &labels);
    const char *part = test && has_test ? "t10k" : "train";
    bool has_images = find(images_path, folder, part, &images);
    bool has_labels = find(labels_path, folder, part, &labels);
    int code = table_init(table, labels_path, memory, fail);
    if (code < 0)
        return code;
    table->unit = "index";
    table->first = 0;
    table->task = TASK_CLASSIFY;
    table->classes = CLASSES;
    table->has_test = has_test;
    if (!has_images || !has_labels)
        return fail_set(fail, -ENOENT,
                        "the folder %s: expected %s-%s or %s-%s.gz in it, found neither", folder,
                        part, has_images ? labels.name : images.name, part,
                        has_images ? labels.name : images.name);
    return read_part(table, images_path, fail);
}
