/* Programs whose standard input, output or error is closed: they run, or say that they could not
 * write; and nothing of theirs lands in another file. */
#include "common/todo.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>

enum { COMMAND_BYTES = 512 };

static void expect(const char *command, int code)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == code, "%s: %d, not %d: %s", command, program.code, code,
                  program.err);
    program_close(&program);
    folder_close(&folder);
}

/* Two ranks without the launcher, which would give them files. */
START_TEST(ranks_run_with_a_standard_file_closed)
{
    static const struct {
        const char *closed;
        int code;
    } rows[] = {{"0<&-", 0}, {"1>&-", 1}, {"2>&-", 0}, {"0<&- 1>&- 2>&-", 1}};
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d OPENBLAS_NUM_THREADS=1; "
             "run() { RANK=$1 \"${LAUNCH%%/*}/lesson02_allreduce\" --steps 2 %s; }; "
             "run 1 & run 0; code=$?; wait $! || other=$?; "
             "[ \"$other\" != %d ] || exit %d; exit $code",
             program_port(), rows[_i].closed, EXIT_TODO, EXIT_TODO);
    expect(command, rows[_i].code);
}
END_TEST

START_TEST(what_is_printed_to_nobody_lands_in_no_file)
{
    expect("\"${LAUNCH%/*}/lesson01_single\" --steps 1 --metrics m 1>&-; "
           "[ $? = 1 ] && [ -s m ] && ! grep -v '^{' m",
           0);
}
END_TEST

START_TEST(the_launcher_notices_that_nobody_reads)
{
    expect("$LAUNCH -n 2 \"${LAUNCH%/*}/lesson02_allreduce\" --steps 2 1>&-", 1);
    expect("$LAUNCH -n 1 true 1>&-", 0); // which says nothing
}
END_TEST

Suite *standard_files_suite(void)
{
    Suite *suite = suite_create("standard_files");
    TCase *tcase = tcase_create("standard_files");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, ranks_run_with_a_standard_file_closed, 0, 4);
    tcase_add_test(tcase, what_is_printed_to_nobody_lands_in_no_file);
    tcase_add_test(tcase, the_launcher_notices_that_nobody_reads);
    suite_add_tcase(suite, tcase);
    return suite;
}
