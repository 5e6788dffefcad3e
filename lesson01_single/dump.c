/* dump: what a step computed, as a file. See the header for its layout. */
#include "lesson01_single/dump.h"
#include "common/tensorfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, RUN_FLOATS = 1024 };

static int make_directory(const char *path, struct fail *fail)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return fail_set(fail, -errno, "--dump: cannot make the directory %s: %s", path,
                    strerror(errno));
}

int dump_open(const struct dump *dump, struct fail *fail)
{
    char path[PATH_BYTES];
    int error = make_directory(dump->options->dump, fail);
    if (error)
        return error;
    snprintf(path, sizeof path, "%s/rank-%d", dump->options->dump, dump->rank);
    return make_directory(path, fail);
}

/* One tensor of the file: an owned part of a gradient or a state, or a parameter. */
struct piece {
    char name[TENSORFILE_NAME_BYTES];
    const struct tensor *tensor;
    struct slice part;   // of the slab
    const float *values; // (part.count); NULL: a state that is kept elsewhere than in memory,
    size_t state, at;    // of its elements those from `at` on
};

enum { PIECES_MOST = MODEL_TENSORS_MOST * (2 + OPTIMIZER_STATES_MOST) };

static void add_piece(struct piece *piece, const char *kind, const struct tensor *tensor,
                      struct slice part, const float *values)
{
    snprintf(piece->name, sizeof piece->name, "%s.%s", kind, tensor->name);
    piece->tensor = tensor;
    piece->part = part;
    piece->values = values;
}

/* Of a frozen tensor, whose gradient is 0, where nobody keeps it. NULL: out of memory. */
static float *make_zeros(const struct model *model)
{
    size_t most = 1;
    for (size_t i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].frozen && model->tensors[i].slice.count > most)
            most = model->tensors[i].slice.count;
    return calloc(most, sizeof(float));
}

static size_t collect(const struct dump *dump, const float *zeros, struct piece *pieces)
{
    const struct optimizer *optimizer = dump->optimizer;
    const struct model *model = optimizer->model;
    size_t count = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct tensor *tensor = &model->tensors[i];
        size_t state;
        struct slice own = optimizer_part(optimizer, tensor, &state), whole = tensor->slice;
        if (tensor->frozen)
            own = whole; // a state it has not
        add_piece(&pieces[count++], "grad", tensor, own,
                  tensor->frozen ? zeros
                                 : dump->grad + optimizer_grad_at(optimizer, own.begin, state));
        add_piece(&pieces[count++], "param", tensor, whole, dump->param + whole.begin);
        for (size_t j = 0; j < optimizer->states && !tensor->frozen; j++) {
            const float *values = optimizer->store ? NULL : optimizer->state[j] + state;
            pieces[count].state = j;
            pieces[count].at = state;
            add_piece(&pieces[count++], optimizer_state_name(optimizer, j), tensor, own, values);
        }
    }
    return count;
}

static int declare(struct tensorfile_writer *writer, const struct piece *piece, struct fail *fail)
{
    const struct tensor *tensor = piece->tensor;
    if (piece->part.count == tensor->slice.count)
        return tensorfile_declare(writer, piece->name, tensor->shape, tensor->dimensions, fail);
    char key[TENSORFILE_NAME_BYTES + 8], offset[32];
    snprintf(key, sizeof key, "%s.offset", piece->name);
    snprintf(offset, sizeof offset, "%zu", piece->part.begin - tensor->slice.begin);
    int error = tensorfile_meta(writer, key, offset, fail);
    return error ? error : tensorfile_declare(writer, piece->name, &piece->part.count, 1, fail);
}

static int describe(struct tensorfile_writer *writer, const struct dump *dump, size_t step,
                    const struct dump_loss *loss, struct fail *fail)
{
    const struct {
        const char *key;
        unsigned long long value;
    } numbers[] = {
        {"lesson", (unsigned long long)dump->options->lesson},
        {"rank", (unsigned long long)dump->rank},
        {"world", (unsigned long long)dump->world},
        {"step", step},
        {"seed", dump->options->seed},
        {"samples", loss->samples},
    };
    char text[32];
    int error = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !error; i++) {
        snprintf(text, sizeof text, "%llu", numbers[i].value);
        error = tensorfile_meta(writer, numbers[i].key, text, fail);
    }
    snprintf(text, sizeof text, "%.17g", loss->mean);
    return error ? error : tensorfile_meta(writer, "loss", text, fail);
}

/* By way of a small buffer. A piece of nothing is written too. */
static int write_stored(struct tensorfile_writer *writer, const struct optimizer *optimizer,
                        const struct piece *piece, struct fail *fail)
{
    float run[RUN_FLOATS];
    size_t done = 0;
    int error;
    do {
        struct slice part = {piece->at + done, piece->part.count - done};
        part.count = part.count < RUN_FLOATS ? part.count : RUN_FLOATS;
        error = optimizer_read(optimizer, piece->state, part, run, fail);
        if (!error)
            error = tensorfile_write_run(writer, run, part.count, fail);
        done += part.count;
    } while (done < piece->part.count && !error);
    return error;
}

static int write_file(struct tensorfile_writer *writer, const char *path,
                      const struct optimizer *optimizer, const struct piece *pieces, size_t count,
                      struct fail *fail)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = declare(writer, &pieces[i], fail);
    if (!error)
        error = tensorfile_begin(writer, path, fail);
    for (size_t i = 0; i < count && !error; i++)
        error = pieces[i].values
                    ? tensorfile_write(writer, pieces[i].values, pieces[i].part.count, fail)
                    : write_stored(writer, optimizer, &pieces[i], fail);
    return error ? error : tensorfile_commit(writer, fail);
}

int dump_step(const struct dump *dump, size_t step, const struct dump_loss *loss, struct fail *fail)
{
    char path[PATH_BYTES];
    struct piece pieces[PIECES_MOST];
    snprintf(path, sizeof path, "%s/rank-%d/step-%06zu.safetensors", dump->options->dump,
             dump->rank, step);
    struct tensorfile_writer *writer = tensorfile_new();
    float *zeros = make_zeros(dump->optimizer->model);
    int error = writer && zeros ? describe(writer, dump, step, loss, fail)
                                : fail_set(fail, -ENOMEM, "no memory to write %s", path);
    if (!error)
        error =
            write_file(writer, path, dump->optimizer, pieces, collect(dump, zeros, pieces), fail);
    free(zeros);
    tensorfile_discard(writer);
    return error;
}
