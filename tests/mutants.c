/* mutants: builds a lesson with a mistake in it, and runs it. See the header. */
#include "tests/mutants.h"
#include "common/todo.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_MOST = 64 * 1024, COMMAND_BYTES = 4096 };

static const char *const rooms[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                    "lesson04_zero"};

static char *read_source(const char *file)
{
    char path[1024], *text = malloc(SOURCE_MOST);
    snprintf(path, sizeof path, "%s/%s", SOURCE_DIR, file);
    FILE *source = fopen(path, "r");
    ck_assert_msg(source && text, "cannot read %s", path);
    size_t length = fread(text, 1, SOURCE_MOST - 1, source);
    ck_assert_uint_lt(length, SOURCE_MOST - 1);
    text[length] = '\0';
    fclose(source);
    return text;
}

/* In a student's tree a task's file is the student's own: a mistake of the solution's does not fit in. */
static bool is_students(const char *source)
{
    char path[1024], task[8];
    const char *todo_at = strstr(source, "todo(\"");
    if (todo_at && sscanf(todo_at, "todo(\"%5[0-9.]", task) == 1)
        todo(task);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        snprintf(path, sizeof path, "%s/%s/ANSWERS.md", SOURCE_DIR, rooms[i]);
        if (access(path, F_OK) == 0 && strstr(source, "// task "))
            return true;
    }
    return false;
}

/* Writes mutant.c. A text that is not there any more, or twice, is an error of the test; false where the
 * text is a student's to write. */
static bool write_mutant(const struct folder *folder, const struct mutant *mutant)
{
    char *source = read_source(mutant->file), path[512];
    char *at = strstr(source, mutant->text);
    if (!at && is_students(source)) {
        free(source);
        return false;
    }
    ck_assert_msg(at != NULL, "%s has no '%s'", mutant->file, mutant->text);
    ck_assert_msg(!strstr(at + 1, mutant->text), "%s has '%s' twice", mutant->file, mutant->text);
    FILE *file = fopen(folder_path(folder, "mutant.c", path), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%.*s%s%s", (int)(at - source), source, mutant->mistake,
            at + strlen(mutant->text));
    ck_assert_int_eq(fclose(file), 0);
    free(source);
    return true;
}

/* With the compiler and the flags of the build, which stand in a file of it; only faster. The
 * mutant comes before the library, so its twin there is not taken. */
static void build(const struct folder *folder, const struct mutant *mutant)
{
    const char *room = rooms[mutant->lesson.number - 1];
    bool is_main = strstr(mutant->file, "/main.c") != NULL;
    char command[COMMAND_BYTES], object[64] = "";
    struct program program;
    if (!is_main)
        snprintf(object, sizeof object, "$build/objects/%s/main.o", room);
    snprintf(command, sizeof command,
             "here=$PWD build=${LAUNCH%%/*}\n"
             "flags=$(cat \"$build/flags\")\n"
             "libraries=$(echo \"$flags\" | grep -o ' -l[^ ]*' | tr '\\n' ' ')\n"
             "cd '%s' && eval \"$flags -w -O1 $here/mutant.c %s $build/staircase.a -o $here/mutant "
             "$libraries\"",
             SOURCE_DIR, object);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s cannot be built:\n%s%s", mutant->file, program.out,
                  program.err);
    program_close(&program);
}

/* Both outputs: ranks other than 0 tell of failures on the second. */
static bool says(const struct program *program, const char *words)
{
    return !words || strstr(program->out, words) || strstr(program->err, words);
}

static void run(const struct folder *folder, const struct mutant *mutant)
{
    char command[COMMAND_BYTES], launch[64] = "";
    struct program program;
    if (mutant->lesson.number > 1)
        snprintf(launch, sizeof launch, "\"$LAUNCH\" -n %d ", mutant->lesson.world);
    /* The proof is to find the mistake: what a mutant leaks, a sanitizer would tell in its stead. */
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS=\"${ASAN_OPTIONS-}:detect_leaks=0\"; "
             "exec %s./mutant %s",
             launch, mutant->arguments);
    program_run(&program, folder->path, command);
    bool caught = program.code == 3 && says(&program, mutant->proof) &&
                  says(&program, mutant->place) && says(&program, mutant->cause);
    ck_assert_msg(caught, "exit code %d; expected 3 with '%s', '%s', '%s':\n%.1500s%.1500s",
                  program.code, mutant->proof, mutant->place ? mutant->place : "",
                  mutant->cause ? mutant->cause : "", program.out, program.err);
    ck_assert(program_gone(&program));
    program_close(&program);
}

void mutant_must_be_caught(const struct mutant *mutant)
{
    struct folder folder;
    folder_open(&folder);
    if (write_mutant(&folder, mutant)) {
        build(&folder, mutant);
        run(&folder, mutant);
    }
    folder_close(&folder);
}
