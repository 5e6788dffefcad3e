/*
 * lessons: the real programs, started by a test as a user would start them, and what they wrote.
 *
 *     struct program program;
 *     lesson_run(&program, &folder, (struct lesson){3, 2}, "--steps 2 --dump a");
 *
 * runs build/launch -n 2 build/lesson03_ddp --steps 2 --dump a in the folder. BLAS has one thread,
 * so that one shape of a matrix has one order of addition.
 */
#ifndef TESTS_LESSONS_H
#define TESTS_LESSONS_H

#include "tests/folder.h"
#include "tests/program.h"

struct lesson {
    int number, world; // lesson 1 has no world but 1
};

/* Until its end. program_close is due. */
void lesson_run(struct program *program, const struct folder *folder, struct lesson lesson,
                const char *arguments);

/* The same; fails the test unless it leaves with 0. Nothing is left to close. Returns how many
 * verification lines it printed, and fails the test if one of them is not ok. */
size_t lesson_ok(const struct folder *folder, struct lesson lesson, const char *arguments);

/* Fails the test unless it leaves with `code` and says `words` on either output. */
void lesson_fails(const struct folder *folder, struct lesson lesson, const char *arguments,
                  int code, const char *words);

/* build/verify with these arguments, "a b" for instance, must find no difference. */
void lesson_dumps_equal(const struct folder *folder, const char *arguments);

/* build/consolidate of what --save has left in `save`, to `save`.safetensors. */
void lesson_consolidate(const struct folder *folder, const char *save);

/* Two saves must be of the same update, parameters, states and settings, bit for bit, whoever wrote them in
 * whatever pieces. `what` is said when they are not. */
void lesson_saves_equal(const struct folder *folder, const char *a, const char *b,
                        const char *what);

/* A tensor of a dump's or consolidated file, `path` in the folder, must have `count` values. */
void lesson_read(const struct folder *folder, const char *path, const char *tensor, float *values,
                 size_t count);

/* All of a text file of the folder. free is due. */
char *lesson_text(const struct folder *folder, const char *name);

/* The values of "key" in a metrics file, line by line, at most `most`; returns how many. */
size_t lesson_values(const struct folder *folder, const char *name, const char *key, double *values,
                     size_t most);

/* Appends a row to the text of a file; `room` is that of the text. */
void lesson_row(char *text, size_t room, const char *row);

/* A text file of the folder. */
void lesson_write(const struct folder *folder, const char *name, const char *text);

#endif
