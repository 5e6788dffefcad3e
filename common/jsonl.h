/*
 * jsonl: a file of JSON lines, one object a line.
 *
 * Every line is written whole and at once, so that a killed run leaves whole lines. Numbers are the
 * shortest decimals that read back as the same double, or rounded; one that is not finite is null, for JSON
 * has no word for it. A line never allocates: it is put together in the caller's array, which may hold several
 * that are written together.
 *
 *     jsonl_begin(&line, "step");      {"event":"step"
 *     jsonl_whole(&line, "step", 7);   ,"step":7
 *     jsonl_end(&line);                }
 *     jsonl_write(&file, &line);       to the file
 */
#ifndef COMMON_JSONL_H
#define COMMON_JSONL_H

#include "common/rank_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jsonl_line {
    char *text;
    size_t room;   // of text, in bytes
    size_t length; // of all that is not written yet
    size_t begun;  // where the last line begins
    bool full;     // it did not fit: the line is not written
};

void jsonl_begin(struct jsonl_line *line, const char *event);

/* Text as it is: brackets, commas, or a value the caller knows to be JSON. */
__attribute__((format(printf, 2, 3))) void jsonl_add(struct jsonl_line *line, const char *format,
                                                     ...);
void jsonl_whole(struct jsonl_line *line, const char *key, size_t value);
void jsonl_real(struct jsonl_line *line, const char *key, double value);
void jsonl_number(struct jsonl_line *line, double value); // without a key and its comma
void jsonl_hash(struct jsonl_line *line, const char *key, uint64_t value); // 16 hexadecimal digits
void jsonl_text(struct jsonl_line *line, const char *text);                // as it is

/* A real, rounded to 12 digits: that is much faster. */
void jsonl_rounded(struct jsonl_line *line, const char *key, double value);
void jsonl_rounded_number(struct jsonl_line *line, double value);

/* As a JSON string; bytes that are no UTF-8 stand as the characters of their numbers. NULL: null. */
void jsonl_string(struct jsonl_line *line, const char *text);

struct jsonl {
    bool open; // false, as in a zeroed one: off
    int file;
    char path[RANK_PATH_BYTES];
};

/* Is this the first line that does not stay, where a run goes on with update `step`? */
typedef bool (*jsonl_over)(const char *line, size_t step);

/* Opens file->path to be written from its beginning, or, at a step above 0, after those of its lines that
 * stay. `line` is what is read through: a longer one does not stay. 0 or -errno, and off. */
int jsonl_open(struct jsonl *file, size_t step, jsonl_over over, struct jsonl_line *line);

/* 0; or -EMSGSIZE: it did not fit and is gone. */
int jsonl_end(struct jsonl_line *line);

/* Writes what lines there are. 0 or -errno: a full disk is told at the line it cost. */
int jsonl_write(const struct jsonl *file, struct jsonl_line *line);

/* 0 or -errno. Off afterwards. */
int jsonl_close(struct jsonl *file);

#endif
