/*
 * mutants: a small mistake put into the sources, to see that a lesson's own proof finds it.
 *
 * The file is copied with one piece of its text replaced, compiled as the rest was, and linked with
 * the rest of the library. The lesson then runs with its proofs on: it must leave with 3 (a
 * verification failed) and say where it first differs, and the likely cause.
 */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include "tests/lessons.h"

struct mutant {
    const char *file;      // "lesson03_ddp/ddp.c"
    const char *text;      // stands in it exactly once
    const char *mistake;   // stands there instead
    struct lesson lesson;  // that must find it
    const char *arguments; // of its run
    const char *proof;     // the comparison that fails
    const char *place;     // NULL, or how the place begins: "fc1.weight["
    const char *cause;     // NULL, or words of the likely cause
};

/* Fails the test unless the mutant is found out as it says. */
void mutant_must_be_caught(const struct mutant *mutant);

#endif
