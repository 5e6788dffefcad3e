/*
 * target: a reader of bytes that come from anywhere, and what it promises about them.
 *
 *     bytes --> target --> accepted, refused, or a promise that was broken
 *
 * A target gives any bytes to one reader and checks what comes out: not only that nothing crashes, but
 * that what was accepted is consistent, and that a refusal says so in a sentence. The same function
 * runs under libFuzzer (entry.c, `make fuzz`) and, over the files of corpus/, in the test suite. A
 * target prints nothing and keeps nothing from one call to the next.
 */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include "common/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verdict {
    bool accepted;      // or refused, which is as well
    const char *broken; // the promise that was not kept, or NULL
};

struct verdict fuzz_casebook(const uint8_t *data, size_t size);
struct verdict fuzz_csv(const uint8_t *data, size_t size);
struct verdict fuzz_frame(const uint8_t *data, size_t size);
struct verdict fuzz_hello(const uint8_t *data, size_t size);
struct verdict fuzz_inventory(const uint8_t *data, size_t size);
struct verdict fuzz_idx(const uint8_t *data, size_t size);
struct verdict fuzz_tensorfile(const uint8_t *data, size_t size);

/* By the names of their folders in corpus/. */
static const struct {
    const char *name;
    struct verdict (*judge)(const uint8_t *data, size_t size);
} targets[] = {
    {"casebook", fuzz_casebook},     {"csv", fuzz_csv}, {"frame", fuzz_frame},
    {"hello", fuzz_hello},           {"idx", fuzz_idx}, {"inventory", fuzz_inventory},
    {"tensorfile", fuzz_tensorfile},
};
enum { TARGETS = sizeof targets / sizeof *targets };

/* The verdict on a reader that returned `code`, which is not 0, for a file that is there and can be
 * read: nothing but its content is at fault, and the sentence names it, in one line that is fit to
 * print. */
struct verdict target_refused(int code, const struct fail *fail, const char *path);

#endif
