/* dumps: dumps to compare, and the program that compares them. See the header. */
#include "tests/dumps.h"
#include "common/slice.h"
#include "common/tensorfile.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const kinds[DUMP_KINDS] = {"param", "momentum", "grad"}; // not in verify's order

struct dump dump_make(const char *side, size_t world, bool sharded)
{
    struct dump dump = {
        .side = side, .steps = 1, .world = world, .sharded = sharded, .lost = world};
    for (int step = 0; step < DUMP_STEPS; step++)
        for (int kind = 0; kind < DUMP_KINDS; kind++)
            for (int i = 0; i < DUMP_COUNT; i++)
                dump.values[step][kind][i] = sinf((float)(1 + i + 17 * kind + 51 * step));
    return dump;
}

/* --- writing a dump -------------------------------------------------------------------------- */

struct piece {
    char name[TENSORFILE_NAME_BYTES];
    struct slice held;
    const float *whole;
};

static void declare(struct tensorfile_writer *writer, const struct piece *piece, bool part,
                    size_t count, struct fail *fail)
{
    char key[96], begin[24];
    size_t shape[2] = {3, 4};
    snprintf(key, sizeof key, "%s.offset", piece->name);
    snprintf(begin, sizeof begin, "%zu", piece->held.begin);
    if (part) {
        tensorfile_declare(writer, piece->name, &piece->held.count, 1, fail);
        tensorfile_meta(writer, key, begin, fail);
    } else {
        tensorfile_declare(writer, piece->name, shape, count == DUMP_WEIGHTS ? 2 : 1, fail);
    }
}

static void meta_number(struct tensorfile_writer *writer, const char *key, size_t number,
                        struct fail *fail)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", number);
    tensorfile_meta(writer, key, text, fail);
}

/* The file of one rank at one step. A rank that owns nothing of a tensor does not write it. */
void dump_write_rank(const struct folder *folder, const struct dump *dump, size_t rank, size_t step)
{
    char path[512], name[64];
    struct fail fail = {0};
    struct piece pieces[2 * DUMP_KINDS];
    size_t count = 0;
    struct tensorfile_writer *writer = tensorfile_new();
    for (int i = 0; i < 2 * DUMP_KINDS; i++) {
        size_t whole = i % 2 ? DUMP_COUNT - DUMP_WEIGHTS : DUMP_WEIGHTS;
        bool part = dump->sharded && i / 2 != DUMP_PARAM;
        struct piece piece = {.held = slice_of(whole, part ? dump->world : 1, part ? rank : 0),
                              .whole = dump->values[step][i / 2] + (i % 2 ? DUMP_WEIGHTS : 0)};
        snprintf(piece.name, sizeof piece.name, "%s.fc1.%s", kinds[i / 2],
                 i % 2 ? "bias" : "weight");
        if (piece.held.count && !(part && rank == dump->lost)) {
            declare(writer, &piece, part, whole, &fail);
            pieces[count++] = piece;
        }
    }
    meta_number(writer, "rank", rank, &fail);
    meta_number(writer, "world", dump->world, &fail);
    meta_number(writer, "step", step, &fail);
    snprintf(name, sizeof name, "%s/rank-%zu/step-%06zu.safetensors", dump->side, rank, step);
    tensorfile_begin(writer, folder_path(folder, name, path), &fail);
    for (size_t i = 0; i < count; i++)
        tensorfile_write(writer, pieces[i].whole + pieces[i].held.begin, pieces[i].held.count,
                         &fail);
    tensorfile_commit(writer, &fail);
    tensorfile_discard(writer);
    ck_assert_msg(fail.code == 0, "%s", fail.text);
}

void dump_folder(const struct folder *folder, const char *name)
{
    char path[512];
    ck_assert_int_eq(mkdir(folder_path(folder, name, path), 0755), 0);
}

void dump_write(const struct folder *folder, const struct dump *dump)
{
    char name[64];
    dump_folder(folder, dump->side);
    for (size_t rank = 0; rank < dump->world; rank++) {
        snprintf(name, sizeof name, "%s/rank-%zu", dump->side, rank);
        dump_folder(folder, name);
        for (size_t step = 0; step < dump->steps; step++)
            dump_write_rank(folder, dump, rank, step);
    }
}

/* --- running the program --------------------------------------------------------------------- */

static void slurp(const char *path, char text[DUMP_TEXT_BYTES])
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, DUMP_TEXT_BYTES - 1, file) : 0;
    text[size] = '\0';
    if (file)
        fclose(file);
}

/* In the child: the program beside this one, with its two outputs in files. */
static void become_verify(char **arguments, const char *out, const char *error)
{
    char program[512];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 16);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        memcpy(slash, "/verify", sizeof "/verify");
    int out_handle = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int error_handle = open(error, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out_handle, STDOUT_FILENO);
    dup2(error_handle, STDERR_FILENO);
    arguments[0] = program;
    execv(program, arguments);
    _exit(127);
}

/* Arguments "a" and "b" stand for these directories of the folder. */
struct outcome verify_run(const struct folder *folder, const char *const *arguments,
                          const char *out_path)
{
    static const char *const sides[] = {"a", "b"};
    char paths[2][512], out[512], error[512], *taken[8] = {NULL};
    struct outcome outcome = {0};
    folder_path(folder, "out", out);
    folder_path(folder, "error", error);
    for (int i = 0; i < 6 && arguments[i]; i++) {
        taken[i + 1] = (char *)arguments[i];
        for (int side = 0; side < 2; side++)
            if (strcmp(arguments[i], sides[side]) == 0)
                taken[i + 1] = (char *)folder_path(folder, arguments[i], paths[side]);
    }
    pid_t child = fork();
    if (child == 0)
        become_verify(taken, out_path ? out_path : out, error);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    slurp(out, outcome.out);
    slurp(error, outcome.error);
    return outcome;
}

struct outcome verify_sides(const struct folder *folder)
{
    return verify_run(folder, (const char *const[]){"a", "b", NULL}, NULL);
}

void outcome_check(const struct outcome *outcome, int code, const char *out, const char *error)
{
    ck_assert_msg(outcome->code == code, "exit code %d:\n%s%s", outcome->code, outcome->out,
                  outcome->error);
    ck_assert_msg(strstr(outcome->out, out) != NULL, "'%s' is not in:\n%s", out, outcome->out);
    ck_assert_msg(strstr(outcome->error, error) != NULL, "'%s' is not in:\n%s", error,
                  outcome->error);
    ck_assert_msg(error[0] || !outcome->error[0], "on the standard error: %s", outcome->error);
}

/* Writes both, compares them, and removes all. */
struct outcome verify_dumps(const struct dump *a, const struct dump *b,
                            const char *const *arguments)
{
    struct folder folder;
    folder_open(&folder);
    dump_write(&folder, a);
    dump_write(&folder, b);
    struct outcome outcome =
        arguments ? verify_run(&folder, arguments, NULL) : verify_sides(&folder);
    folder_close(&folder);
    return outcome;
}
