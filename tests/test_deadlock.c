/* The experiment of lesson 2 shows what it claims: small swaps end, large ones never do. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Every swap up to `good` ended, none from `bad` on did; and these are a page apart at most. */
static void check_lines(const char *out, size_t good, size_t bad)
{
    ck_assert_msg(good < bad && bad - good <= 4096, "%s", out);
    for (const char *line = out; line && *line; line = strchr(line, '\n')) {
        size_t size;
        char verdict[16];
        line += *line == '\n';
        if (sscanf(line, "%zu bytes each way, send first, then receive: %15[a-zA-Z]", &size,
                   verdict) != 2)
            continue;
        bool done = strcmp(verdict, "done") == 0;
        ck_assert_msg(done ? size <= good : size >= bad, "%.80s", line);
    }
}

START_TEST(blocking_sends_deadlock_from_some_size_on)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "\"${LAUNCH%launch}deadlock\"");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.out, "      4096 bytes each way, send first, then "
                                              "receive: done"));
    ck_assert_ptr_nonnull(strstr(program.out, "DEADLOCK"));
    const char *end = strstr(program.out, "It starts between ");
    size_t good, bad;
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(sscanf(end, "It starts between %zu and %zu bytes", &good, &bad), 2);
    check_lines(program.out, good, bad);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *deadlock_suite(void)
{
    Suite *suite = suite_create("deadlock");
    TCase *tcase = tcase_create("deadlock");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, blocking_sends_deadlock_from_some_size_on);
    suite_add_tcase(suite, tcase);
    return suite;
}
