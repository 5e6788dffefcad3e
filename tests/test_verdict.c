/* verdict: a suite of which one test passes, one fails, and four come to what is not yet written. */
#include "tests/verdict.h"
#include "common/todo.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"
#include "tests/unwritten.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(this_passes)
{
    ck_assert_int_eq(1, 1);
}
END_TEST

START_TEST(this_fails)
{
    struct folder folder;
    folder_open(&folder); // and does not close it
    ck_assert_int_eq(1, 2);
}
END_TEST

START_TEST(this_comes_to_a_task)
{
    todo("02.4");
}
END_TEST

START_TEST(this_was_to_abort_and_comes_to_a_task)
{
    todo("03.3");
}
END_TEST

START_TEST(a_child_of_this_comes_to_a_task)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        todo("02.5");
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TODO)
        unwritten_in_child();
}
END_TEST

START_TEST(a_program_of_this_comes_to_a_task)
{
    struct program program;
    program_run(&program, "/", "echo 'task 03.1 (x) is not yet written: ...' >&2; exit 1");
}
END_TEST

static Suite *unfinished(void)
{
    Suite *suite = suite_create("unfinished");
    TCase *tcase = tcase_create("unfinished");
    tcase_add_test(tcase, this_passes);
    tcase_add_test(tcase, this_fails);
    tcase_add_test(tcase, this_comes_to_a_task);
    tcase_add_test_raise_signal(tcase, this_was_to_abort_and_comes_to_a_task, SIGABRT);
    tcase_add_test(tcase, a_child_of_this_comes_to_a_task);
    tcase_add_test(tcase, a_program_of_this_comes_to_a_task);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* In a process of its own, as side_by_side.c does. */
static void run_unfinished(FILE *output)
{
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(output), 1);
        struct verdict verdict = verdict_of("unfinished", unfinished());
        verdict_print_todo(&verdict);
        fflush(stdout);
        _exit(verdict.failures == 1 && verdict.errors == 0 && verdict.checks == 6 ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(what_waits_is_told_from_what_fails)
{
    static const char *const words[] = {
        "Checks: 6, Failures: 1, Errors: 0, To do: 4\n",
        "this_fails:0: Assertion '1 == 2' failed",
        "TODO unfinished: this_comes_to_a_task (1 check): 02.4\n",
        "TODO unfinished: a_child_of_this_comes_to_a_task (1 check): 02.5\n",
        "TODO unfinished: a_program_of_this_comes_to_a_task (1 check): 03.1\n",
        ", 4 to do: 02.4 (1), 02.5 (1), 03.1 (1), 03.3 (1)",
    };
    char text[4096] = "";
    FILE *output = tmpfile();
    ck_assert_ptr_nonnull(output);
    run_unfinished(output);
    rewind(output);
    fread(text, 1, sizeof text - 1, output);
    fclose(output);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(text, words[i]) != NULL, "not: %s\nbut: %s", words[i], text);
}
END_TEST

/* In a folder of this test's, that it may look for what is left there. */
START_TEST(a_failed_test_leaves_no_folder)
{
    struct folder folder;
    FILE *output = tmpfile();
    folder_open(&folder);
    setenv("TMPDIR", folder.path, 1);
    run_unfinished(output);
    fclose(output);
    ck_assert_int_eq(rmdir(folder.path), 0);
}
END_TEST

Suite *verdict_suite(void)
{
    Suite *suite = suite_create("verdict");
    TCase *tcase = tcase_create("verdict");
    tcase_add_test(tcase, what_waits_is_told_from_what_fails);
    tcase_add_test(tcase, a_failed_test_leaves_no_folder);
    suite_add_tcase(suite, tcase);
    return suite;
}
