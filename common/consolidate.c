/*
 * consolidate: the program that makes one file of a saved update: every tensor whole, whoever wrote its pieces.
 *
 *     consolidate DIR OUT.safetensors
 *
 *     rank-0   | param.fc1.weight@0  |                         | param.fc1.weight (64, 64) | param.fc1.bias |
 *     rank-1   | param.fc1.weight@32 | param.fc1.bias |   ->    momentum.fc1.weight ...
 *
 * The file says nothing of ranks: equal states make equal files, in whatever pieces they were saved. Any
 * safetensors reader opens it, and --init begins with its parameters. Values pass through tile by tile.
 */
#include "common/inventory.h"
#include "common/shelf.h"
#include "common/slicefile.h"
#include "common/standard_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DONE = 0, FAILED = 1, USAGE = 2 };

static const char usage[] =
    "usage: consolidate DIR OUT.safetensors\n"
    "\n"
    "Makes one file of what a run of any lesson and world has saved: parameters and optimizer\n"
    "states, every tensor whole. DIR is the folder of --save, whose last update is taken, or the\n"
    "folder of one update in it. Every checksum is held against its bytes.\n"
    "\n"
    "  --help     this text\n"
    "  --version  the version\n"
    "\n"
    "Exit code: 0 done, 1 something is missing, damaged or cannot be written, 2 wrong usage.\n";

/* All that the next update depends on; not who wrote it. */
static int describe(struct tensorfile_writer *writer, const struct inventory *inventory,
                    struct fail *fail)
{
    const struct {
        const char *key;
        size_t value;
    } numbers[] = {
        {"updates", inventory->updates},       {"skipped", inventory->skipped},
        {"epoch", inventory->epoch},           {"position", inventory->position},
        {"loss_scale", inventory->loss_scale}, {"good_updates", inventory->good_updates},
    };
    char text[24];
    int error = tensorfile_meta(writer, "format", "staircase-whole-1", fail);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !error; i++) {
        snprintf(text, sizeof text, "%zu", numbers[i].value);
        error = tensorfile_meta(writer, numbers[i].key, text, fail);
    }
    for (size_t i = 0; i < inventory->setting_count && !error; i++)
        error =
            tensorfile_meta(writer, inventory->settings[i].key, inventory->settings[i].value, fail);
    return error;
}

/* A frozen tensor has no state. */
static int declare(struct tensorfile_writer *writer, const struct inventory *inventory, size_t kind,
                   size_t index, struct fail *fail)
{
    const struct inventory_tensor *tensor = &inventory->tensors[index];
    char name[INVENTORY_KIND_BYTES + 1 + TENSORFILE_NAME_BYTES];
    size_t count;
    inventory_pieces(inventory, kind, index, &count);
    if (count == 0)
        return 0;
    snprintf(name, sizeof name, "%s.%s", inventory->kinds[kind], tensor->name);
    return tensorfile_declare(writer, name, tensor->shape, tensor->dimensions, fail);
}

static int declare_all(struct tensorfile_writer *writer, const struct inventory *inventory,
                       struct fail *fail)
{
    int error = describe(writer, inventory, fail);
    for (size_t kind = 0; kind < inventory->kind_count; kind++)
        for (size_t i = 0; i < inventory->tensor_count && !error; i++)
            error = declare(writer, inventory, kind, i, fail);
    return error;
}

static int take(void *context, size_t begin, const float *values, size_t count, struct fail *fail)
{
    (void)begin; // pieces come in order
    return tensorfile_write_run(context, values, count, fail);
}

/* Pieces are sorted by kind, tensor and place: the order in which tensors were declared. */
static int write_all(struct tensorfile_writer *writer, const struct inventory *inventory,
                     const char *folder, struct fail *fail)
{
    struct slicefile_sink sink = {take, writer};
    int error = 0;
    for (size_t i = 0; i < inventory->piece_count && !error; i++) {
        const struct inventory_piece *piece = &inventory->pieces[i];
        char path[SHELF_PATH_BYTES + TENSORFILE_NAME_BYTES];
        struct slicefile slicefile;
        snprintf(path, sizeof path, "%s/%s", folder, inventory->files[piece->file].name);
        error = slicefile_open(&slicefile, path, &inventory->files[piece->file], fail);
        if (error)
            return error;
        error = slicefile_read(&slicefile, inventory, piece, &sink, fail);
        slicefile_close(&slicefile);
    }
    return error;
}

static int write_file(const struct inventory *inventory, const char *folder, const char *out,
                      struct fail *fail)
{
    struct tensorfile_writer *writer = tensorfile_new();
    int error = writer ? declare_all(writer, inventory, fail)
                       : fail_set(fail, -ENOMEM, "no memory to write %s", out);
    if (!error)
        error = tensorfile_begin(writer, out, fail);
    if (!error)
        error = write_all(writer, inventory, folder, fail);
    if (!error)
        error = tensorfile_commit(writer, fail);
    tensorfile_discard(writer);
    return error;
}

static void tell(const struct inventory *inventory, const char *folder, const char *out)
{
    size_t count = 0;
    for (size_t i = 0; i < inventory->tensor_count; i++)
        count += inventory->tensors[i].count;
    printf("%s: update %zu, %zu parameters", out, inventory->updates, count);
    for (size_t kind = 0; kind < inventory->kind_count; kind++)
        if (strcmp(inventory->kinds[kind], "param") != 0)
            printf(", %s", inventory->kinds[kind]);
    printf("; from %s, %zu file%s\n", folder, inventory->file_count,
           inventory->file_count == 1 ? "" : "s");
}

static int consolidate(const char *directory, const char *out, struct fail *fail)
{
    char folder[SHELF_PATH_BYTES];
    struct inventory inventory = {0};
    int error = shelf_latest(folder, directory, fail);
    if (error == -ENOENT)
        fail_set(fail, error, "there is no checkpoint in %s", directory);
    if (!error)
        error = inventory_read(&inventory, folder, fail);
    if (!error)
        error = write_file(&inventory, folder, out, fail);
    if (!error)
        tell(&inventory, folder, out);
    inventory_release(&inventory);
    return error ? FAILED : DONE;
}

static int run(int argc, char **argv, struct fail *fail)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return fputs(usage, stdout) < 0 ? FAILED : DONE;
        if (strcmp(argv[i], "--version") == 0)
            return puts("consolidate 0.1.0") < 0 ? FAILED : DONE;
        if (argv[i][0] == '-') {
            fail_set(fail, -EINVAL, "unknown flag %s; there are --help and --version", argv[i]);
            return USAGE;
        }
    }
    if (argc == 3)
        return consolidate(argv[1], argv[2], fail);
    fail_set(fail, -EINVAL,
             "a folder and a file are needed: consolidate DIR OUT.safetensors (see "
             "--help)");
    return USAGE;
}

int main(int argc, char **argv)
{
    struct fail fail = {0};
    standard_files_occupy();
    int code = run(argc, argv, &fail);
    if (fflush(stdout) || ferror(stdout))
        fail_set(&fail, -EIO, "cannot write to the standard output: %s", strerror(errno));
    if (fail.code)
        fprintf(stderr, "consolidate: %s\n", fail.text);
    return fail.code && code == DONE ? FAILED : code;
}
