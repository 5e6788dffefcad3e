/*
 * run: the one runner of every suite. `build/check` runs all, `build/check SUITE...` some, and
 * `build/check -j N ...` N at a time.
 */
#include "tests/side_by_side.h"
#include "tests/suites.h"
#include "tests/verdict.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUITES_MOST = sizeof suites / sizeof *suites, EXIT_USAGE = 2 };

static const struct suite_entry *find(const char *name)
{
    for (size_t i = 0; suites[i].name; i++)
        if (strcmp(suites[i].name, name) == 0)
            return &suites[i];
    fprintf(stderr, "check: no suite is called '%s'; the suites are:", name);
    for (size_t i = 0; suites[i].name; i++)
        fprintf(stderr, " %s", suites[i].name);
    fprintf(stderr, "\n");
    return NULL;
}

/* The suites of these names, or all; how many, or -1 when there is no such suite. */
static int choose(int count, char **names, const struct suite_entry *chosen[SUITES_MOST])
{
    int all = SUITES_MOST - 1;
    for (int i = 0; count == 0 && i < all; i++)
        chosen[i] = &suites[i];
    for (int i = 0; i < count && i < all; i++) {
        chosen[i] = find(names[i]);
        if (!chosen[i])
            return -1;
    }
    return count == 0 ? all : count < all ? count : all;
}

/* In this process, one after the other. */
static int run_in_turn(const struct suite_entry *const *chosen, int count)
{
    struct verdict all = {0};
    for (int i = 0; i < count; i++) {
        struct verdict verdict = verdict_of(chosen[i]->name, chosen[i]->make());
        verdict_add(&all, &verdict);
    }
    return all.failures + all.errors == 0 ? 0 : 1;
}

/* The longest begin first, or they would be left over at the end: these, of which most only wait for
 * a deadline; then those of the upper floors, which start more processes. */
static bool is_long(const char *name)
{
    static const char *const names[] = {"failures", "comm",   "jobs",   "restarts",
                                        "stairs",   "narrow", "slowed", "rendezvous"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int run_side_by_side(const struct suite_entry *const *chosen, int count, size_t jobs)
{
    struct side sides[SUITES_MOST];
    size_t filled = 0;
    for (int round = 0; round < 2; round++)
        for (int i = count - 1; i >= 0; i--)
            if (is_long(chosen[i]->name) == (round == 0))
                sides[filled++] = (struct side){.name = chosen[i]->name, .make = chosen[i]->make};
    return side_by_side(sides, filled, jobs);
}

int main(int argc, char **argv)
{
    const struct suite_entry *chosen[SUITES_MOST];
    bool parallel = argc > 2 && strcmp(argv[1], "-j") == 0;
    int first = parallel ? 3 : 1, jobs = parallel ? atoi(argv[2]) : 1;
    /* In seconds: Check's own 4 are short where cores are shared. Every tcase_create reads it. */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    /* Only a hang is to reach a limit: not a machine that has much else to do. */
    setenv("CK_TIMEOUT_MULTIPLIER", "5", 0);
    int count = choose(argc - first, argv + first, chosen);
    if (count < 0 || jobs < 1)
        return EXIT_USAGE;
    return jobs > 1 && count > 1 ? run_side_by_side(chosen, count, (size_t)jobs)
                                 : run_in_turn(chosen, count);
}
