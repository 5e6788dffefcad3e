/* The experiment of lesson 2 shows what it claims: small swaps end, large ones never do. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

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
    ck_assert_ptr_nonnull(strstr(program.out, "It starts between "));
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
