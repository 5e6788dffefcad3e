/*
 * watched: does a sanitizer watch this test? Then it takes some ten times as long, and does less of the
 * same. A sanitizer finds a wrong address, a race or a leak in code that runs at all; that every row of
 * a long table comes out right is `make check`'s to say, which leaves no row out.
 */
#ifndef TESTS_WATCHED_H
#define TESTS_WATCHED_H

#include <check.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { WATCHED = 1 };
#else
enum { WATCHED = 0 };
#endif

/* Adds the rows 0 .. count - 1 of a table; watched, every third of them: 0, 4, 8, 9, 13, 17, 18, ...
 * A diagonal: where the row's number is world + 4 x flags, say, no world and no flag is left out for
 * being a multiple of three. */
static inline void watched_add_rows(TCase *tcase, const TTest *test, int count)
{
    enum { EVERY = 3 };
    for (int i = 0; i < count && WATCHED; i += EVERY)
        if (i + i / EVERY % EVERY < count)
            tcase_add_loop_test(tcase, test, i + i / EVERY % EVERY, i + i / EVERY % EVERY + 1);
    if (!WATCHED)
        tcase_add_loop_test(tcase, test, 0, count);
}

#endif
