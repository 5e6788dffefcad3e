/*
 * flag: one row of the table every command line of the course is read with.
 *
 * A row says all there is to say of a flag, its default included, which is a text read like the
 * user's own: what `--help` prints is what a run uses. `flags` (flag_table.c) is the table;
 * options.c walks the command line with it.
 */
#ifndef COMMON_FLAG_H
#define COMMON_FLAG_H

#include "common/options.h"

#include <stdbool.h>
#include <stddef.h>

enum flag_kind {
    FLAG_TITLE,    // no flag: the title of a group in --help
    FLAG_ON,       // takes no value, sets a bool
    FLAG_OFF,      // takes no value, clears a bool
    FLAG_ZERO,     // takes no value, sets a size_t to 0
    FLAG_WHOLE,    // size_t
    FLAG_REAL,     // double
    FLAG_KB,       // a real number of KiB, kept as size_t bytes
    FLAG_CHOICE,   // int: the position of the value among `accepts`, plus `least`
    FLAG_TEXT,     // const char *: ranks must agree on what it says
    FLAG_PATH,     // const char *: ranks must agree on whether it is there
    FLAG_HIDDEN,   // hidden, hidden_count, hidden_given
    FLAG_SCHEDULE, // schedule, halve_every
    FLAG_INIT,     // init, init_value
    FLAG_SCALE,    // double: a power of two; dynamic: 0; none: 1
    FLAG_INJECT,   // uint64_t: a set of zoo.h's members; help: OPTIONS_INJECT_HELP, and help
};

/* Must every rank of a run be given the same? Then it counts for the fingerprint. */
enum flag_scope { FLAG_OWN, FLAG_SHARED };

struct flag {
    const char *name;     // without its --
    const char *accepts;  // "B", or "sgd | adam | adamw"; NULL: takes no value
    const char *fallback; // its default, read like a value; NULL: zero or by `help`
    enum flag_kind kind;
    size_t offset;      // into struct options
    double least, most; // of numbers
    unsigned lessons;   // bit L: lesson L has it
    enum flag_scope scope;
    const char *help;
    const char *later; // values known to the course, not built in this version
};

extern const struct flag flags[]; // ends with a row whose help is NULL

/* NULL when no row has this name (`length` bytes of it). */
const struct flag *flag_find(const char *name, size_t length);

/* The flag of this lesson whose name is nearest in single-letter edits; NULL if none is near. */
const struct flag *flag_nearest(const char *name, size_t length, int lesson);

bool flag_in_lesson(const struct flag *flag, int lesson);

/* Is `text` one of `choices` ("a | b | c")? Its position, or -1. */
int flag_choice(const char *choices, const char *text);

/* Reads `text` (NULL for a flag without a value) into its field. False: not what it accepts. */
bool flag_store(const struct flag *flag, struct options *options, const char *text);

enum { FLAG_ACCEPTS_BYTES = 160 };

/* "a whole number from 1 to 1000000", "sgd | adam | adamw", ... */
void flag_accepts(const struct flag *flag, char text[FLAG_ACCEPTS_BYTES]);

#endif
