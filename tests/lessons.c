/* lessons: the real programs, started by a test as a user would start them. See the header. */
#include "tests/lessons.h"

#include "common/tensorfile.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 2048 };

void lesson_run(struct program *program, const struct folder *folder, struct lesson lesson,
                const char *arguments)
{
    static const char *const names[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                        "lesson04_zero"};
    char command[COMMAND_BYTES], start[64] = "";
    if (lesson.number > 1)
        snprintf(start, sizeof start, "\"$LAUNCH\" -n %d ", lesson.world);
    int length = snprintf(command, sizeof command,
                          "export OPENBLAS_NUM_THREADS=1; exec %s\"${LAUNCH%%/*}/%s\" %s", start,
                          names[lesson.number - 1], arguments);
    ck_assert_int_lt(length, COMMAND_BYTES);
    program_run(program, folder->path, command);
}

/* Lines that tell of a comparison. */
static size_t count_lines(const struct program *program, struct lesson lesson)
{
    size_t count = 0;
    for (const char *line = program->out; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *verify = strstr(line, "verify step "), *end = strchr(line, '\n');
        if (!verify || !end || verify > end)
            continue;
        ck_assert_msg(end - line > 4 && strncmp(end - 4, "| ok", 4) == 0,
                      "lesson %d, world %d: %.*s", lesson.number, lesson.world, (int)(end - line),
                      line);
        count++;
    }
    return count;
}

size_t lesson_ok(const struct folder *folder, struct lesson lesson, const char *arguments)
{
    struct program program;
    lesson_run(&program, folder, lesson, arguments);
    ck_assert_msg(program.code == 0, "lesson %d, world %d, %s: exit code %d\n%s%s", lesson.number,
                  lesson.world, arguments, program.code, program.out, program.err);
    size_t lines = count_lines(&program, lesson);
    program_close(&program);
    return lines;
}

void lesson_fails(const struct folder *folder, struct lesson lesson, const char *arguments,
                  int code, const char *words)
{
    struct program program;
    lesson_run(&program, folder, lesson, arguments);
    ck_assert_msg(program.code == code &&
                      (strstr(program.out, words) || strstr(program.err, words)),
                  "lesson %d, world %d, %s: exit code %d, not %d with '%s'\n%s%s", lesson.number,
                  lesson.world, arguments, program.code, code, words, program.out, program.err);
    program_close(&program);
}

void lesson_dumps_equal(const struct folder *folder, const char *arguments)
{
    char command[COMMAND_BYTES];
    struct program program;
    snprintf(command, sizeof command, "exec \"${LAUNCH%%/*}/verify\" %s", arguments);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "verify %s: exit code %d\n%s%s", arguments, program.code,
                  program.out, program.err);
    program_close(&program);
}

void lesson_consolidate(const struct folder *folder, const char *save)
{
    char command[COMMAND_BYTES];
    struct program program;
    snprintf(command, sizeof command, "exec \"${LAUNCH%%/*}/consolidate\" %s %s.safetensors", save,
             save);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "consolidate %s: exit code %d\n%s%s", save, program.code,
                  program.out, program.err);
    program_close(&program);
}

void lesson_saves_equal(const struct folder *folder, const char *a, const char *b, const char *what)
{
    char command[COMMAND_BYTES];
    struct program program;
    lesson_consolidate(folder, a);
    lesson_consolidate(folder, b);
    snprintf(command, sizeof command, "cmp %s.safetensors %s.safetensors", a, b);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s: %s%s", what, program.out, program.err);
    program_close(&program);
}

void lesson_read(const struct folder *folder, const char *path, const char *tensor, float *values,
                 size_t count)
{
    char whole[512];
    struct fail fail = {0};
    struct tensorfile_reader *reader = NULL;
    int error = tensorfile_open(&reader, folder_path(folder, path, whole), &fail);
    ck_assert_msg(!error, "%s", fail.text);
    const struct tensorfile_entry *entry = tensorfile_find(reader, tensor);
    ck_assert_msg(entry && entry->count == count, "%s: %s has not %zu values", path, tensor, count);
    error = tensorfile_read(reader, entry, 0, values, count, &fail);
    ck_assert_msg(!error, "%s", fail.text);
    tensorfile_close(reader);
}

char *lesson_text(const struct folder *folder, const char *name)
{
    char path[512], *text = calloc(1, 1 << 20);
    FILE *file = fopen(folder_path(folder, name, path), "rb");
    ck_assert_msg(file && text, "%s is not there", name);
    ck_assert_uint_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

size_t lesson_values(const struct folder *folder, const char *name, const char *key, double *values,
                     size_t most)
{
    char *text = lesson_text(folder, name), quoted[64];
    size_t count = 0;
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    for (const char *at = strstr(text, quoted); at && count < most; at = strstr(at + 1, quoted))
        values[count++] = strtod(at + strlen(quoted), NULL);
    free(text);
    return count;
}

void lesson_row(char *text, size_t room, const char *row)
{
    size_t length = strlen(text);
    ck_assert_uint_lt(length + strlen(row), room);
    snprintf(text + length, room - length, "%s", row);
}

void lesson_write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    folder_write(folder, name, text, strlen(text), false, path);
}
