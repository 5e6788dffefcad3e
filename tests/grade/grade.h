/*
 * grade: what a check of the grader is, and how one is written.
 *
 * A check is a row of its lesson's table (lesson02.c) and a function. The function runs in a process of
 * its own, under a limit; what it leaves undone, crashes or hangs costs this check's points only.
 *
 *     static int sums(struct grade *grade) // 0: passed
 *     {
 *         size_t count = grade_draw(grade, 1, 1000); // from the seed: the same when run again
 *         ...
 *         return grade_expect(grade, found == sum, "%zu elements: expected %g, found %g", ...);
 *     }
 *
 *     {"02.4", "sums", KIND_CORRECT, 10, "chunk r ends at rank r, summed", sums, 0},
 *
 * It calls the student's functions with sizes and worlds it has drawn, odd ones among them, and knows the
 * right answer from elsewhere: an oracle, a formula, whole numbers that add up exactly; never from the
 * ranks agreeing with each other. A body that is not yet written ends the process with EXIT_TODO: no
 * point, and no complaint. No ck_assert in a check: its words are for tests.
 */
#ifndef TESTS_GRADE_GRADE_H
#define TESTS_GRADE_GRADE_H

#include "common/rng.h"
#include "tests/lessons.h"
#include "tests/ranks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRADE_TEXT_BYTES = 1024, GRADE_LIMIT_SECONDS = 30, GRADE_TIMEOUT_SECONDS = 6 };

enum kind { KIND_CORRECT, KIND_COUNTED, KIND_ROBUST, KIND_SPEED, KINDS };

struct grade {
    struct rng rng;
    uint64_t drawn; // numbers so far
    char *text;     // GRADE_TEXT_BYTES: what was expected and found, "" while all is well
};

struct check {
    const char *task; // "02.4"; NULL ends a table
    const char *name; // with the task it is the check's id, which mutants go by: "02.4/sums"
    enum kind kind;
    int points;        // a lesson's add up to 100
    const char *shows; // one line: what is right when it passes
    int (*run)(struct grade *grade);
    double limit_seconds; // 0: GRADE_LIMIT_SECONDS
};

/* A number from `least` to `most`, both included. */
size_t grade_draw(struct grade *grade, size_t least, size_t most);

/* A world of 3 or 5 ranks; an element count that no such world divides and that is at least `least`. */
int grade_world(struct grade *grade);
size_t grade_odd(struct grade *grade, size_t least);

/* A value with a fraction, between -1 and 1, of element i of a vector; another vector has another `which`. */
float grade_value(const struct grade *grade, size_t which, size_t i);

/* 0 when the condition holds; else 1, and the first such sentence is kept. */
__attribute__((format(printf, 3, 4))) int grade_expect(struct grade *grade, bool condition,
                                                       const char *format, ...);

/* The same for a number: `slack` is how far it may be off. A NaN is never near. */
int grade_near(struct grade *grade, const char *what, size_t i, double found, double expected,
               double slack);

/* Runs a body in real ranks over real sockets (ranks.h), which are joined without a hello: that is a task
 * of its own. A wait of GRADE_TIMEOUT_SECONDS is an error. 0 when every rank returned 0; else 1 with what the first of them said. */
int grade_ranks(struct grade *grade, int world, ranks_body *body, void *context);

/* After ranks_run_plan, for a plan of the check's own. */
int grade_result(struct grade *grade, const struct ranks_result *result);

/* The same for a plan in which rank `victim` kills itself: its death is no fault, all others are to hear of it. */
int grade_killed(struct grade *grade, const struct ranks_plan *plan, int victim);

/* A lesson's program, in a fresh folder (lessons.h): 0 when it left with `code`; program_close is due
 * in any case. */
int grade_lesson(struct grade *grade, struct program *program, const struct folder *folder,
                 struct lesson lesson, const char *arguments, int code);

/* The tables, each ended by a row without a task. */
extern const struct check lesson01_checks[], lesson02_checks[], lesson03_checks[],
    lesson04_checks[];

#endif
