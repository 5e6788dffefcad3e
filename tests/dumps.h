/*
 * dumps: small dumps written by the real writer, and the program `verify` run on them.
 *
 * A model of one layer, fc1.weight (3, 4) and fc1.bias (3), dumped for a step or two. Parameters
 * are always whole; gradients and momenta are whole or, sharded, in parts.
 */
#ifndef TESTS_DUMPS_H
#define TESTS_DUMPS_H

#include "tests/folder.h"

#include <stdbool.h>
#include <stddef.h>

enum { DUMP_STEPS = 2, DUMP_KINDS = 3, DUMP_WEIGHTS = 12, DUMP_COUNT = 15, DUMP_TEXT_BYTES = 8192 };
enum { DUMP_PARAM, DUMP_MOMENTUM, DUMP_GRAD };

struct dump {
    const char *side; // the directory's name in the folder, "a" or "b"
    size_t steps, world;
    bool sharded; // ranks hold parts of gradients and momenta
    size_t lost;  // the parts of this rank are not written
    float values[DUMP_STEPS][DUMP_KINDS][DUMP_COUNT];
};

/* One step of values that all differ; nothing is written. */
struct dump dump_make(const char *side, size_t world, bool sharded);

/* Writes the directory, or one file of it once more. */
void dump_write(const struct folder *folder, const struct dump *dump);
void dump_write_rank(const struct folder *folder, const struct dump *dump, size_t rank,
                     size_t step);

/* A directory in the folder. */
void dump_folder(const struct folder *folder, const char *name);

struct outcome {
    int code;
    char out[DUMP_TEXT_BYTES], error[DUMP_TEXT_BYTES];
};

/* Runs the program beside this one; arguments "a" and "b" stand for these directories of the
 * folder. `out_path` takes the standard output elsewhere, or is NULL. */
struct outcome verify_run(const struct folder *folder, const char *const *arguments,
                          const char *out_path);

/* verify a b */
struct outcome verify_sides(const struct folder *folder);

/* Writes both, compares them with `arguments` (NULL: a b), removes them. */
struct outcome verify_dumps(const struct dump *a, const struct dump *b,
                            const char *const *arguments);

/* Fails the test unless the program left with `code` and said this on its two outputs; "" on the
 * standard error means nothing at all. */
void outcome_check(const struct outcome *outcome, int code, const char *out, const char *error);

#endif
