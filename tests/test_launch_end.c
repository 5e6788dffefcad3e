/* How a job ends under the launcher: the rank that failed is named, signals are heeded, no process is left. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024 };

/* --- failures -------------------------------------------------------------------------------- */

#define AWAIT(condition) "until " condition "; do sleep 0.01; done; "

static const struct {
    const char *script;
    int code;
    const char *said;
} failures[] = {
    {"[ $RANK = 1 ] && exit 7; exec sleep 1000", 7, "first cause: rank 1 exited with code 7\n"},
    {"[ $RANK = 1 ] && exit 7; exit 0", 7, "first cause: rank 1 exited with code 7\n"},
    {"[ $RANK = 2 ] && kill -9 $$; exec sleep 1000", 137,
     "first cause: rank 2 was killed by signal 9"},
    /* its neighbours notice, and may be seen first */
    {"[ $RANK = 1 ] && { : > up; sleep 0.03; kill -9 $$; }; " AWAIT("[ -e up ]") "exit 1", 137,
     "first cause: rank 1 was killed by signal 9"},
    {"[ $RANK = 1 ] && { : > up; kill -9 $$; }; " AWAIT("[ -e up ]") "exit 1", 137,
     "in consequence rank 0 exited with code 1, rank 2"},
    {"[ $RANK = 0 ] && { echo $$ > pid; exit 0; }; " // and has been seen to
     AWAIT("[ -s pid ] && ! kill -0 $(cat pid) 2> /dev/null") "exit 1",
     1, "rank 0 had left before with code 0"},
    {"[ $RANK = 0 ] && exit 3; exec sleep 1000", 3,
     "in consequence rank 1 was stopped, rank 2 was stopped\n"},
};
enum { FAILURES = sizeof failures / sizeof *failures };

START_TEST(one_rank_that_fails_ends_the_job_and_is_named)
{
    char command[TEXT_BYTES];
    snprintf(command, sizeof command, "exec $LAUNCH -n 3 sh -c '%s'", failures[_i].script);
    program_expect(command, failures[_i].code, failures[_i].said);
}
END_TEST

START_TEST(ranks_that_do_not_heed_sigterm_are_killed_after_the_grace)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "exec $LAUNCH -n 2 --grace 0.5 sh -c 'trap \"\" TERM; "
                "if [ $RANK = 1 ]; then sleep 0.2; exit 7; fi; sleep 1000; sleep 1000'");
    ck_assert_msg(program.code == 7, "%s", program.err);
    ck_assert(program.seconds >= 0.7);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- the end of the launcher ----------------------------------------------------------------- */

/* Ranks that have a child of their own and say when they run. */
static const char *const family = "exec $LAUNCH -n 3 --grace %s sh -c '%s sleep 1000 & "
                                  ": > up-$RANK; wait; exit 0'";

static void start_family(struct program *program, struct folder *folder, const char *grace,
                         const char *first)
{
    char command[TEXT_BYTES];
    folder_open(folder);
    snprintf(command, sizeof command, family, grace, first);
    program_start(program, folder->path, command);
    folder_await(folder, "up-0");
    folder_await(folder, "up-1");
    folder_await(folder, "up-2");
}

static void end_family(struct program *program, struct folder *folder, int code)
{
    program_wait(program);
    ck_assert_msg(program->code == code, "%d: %s", program->code, program->err);
    ck_assert(program_gone(program));
    program_close(program);
    folder_close(folder);
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};

START_TEST(a_signal_to_the_launcher_leaves_no_process)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000", "");
    kill(program.pid, stops[_i]);
    end_family(&program, &folder, 128 + stops[_i]);
}
END_TEST

START_TEST(a_second_interrupt_waits_for_no_grace)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000",
                 "[ $RANK = 1 ] && { trap \": > asked\" TERM; : > up-1; "
                 "while :; do sleep 0.01; done; }; trap \"\" TERM;");
    kill(program.pid, SIGINT);
    folder_await(&folder, "asked"); // the ranks have been told to end, and do not
    usleep(100000);                 // a second that comes at once may be the first one's echo
    ck_assert_int_eq(kill(program.pid, 0), 0);
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

START_TEST(two_interrupts_at_once_leave_no_process)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "0.3", "trap \"\" TERM;");
    kill(program.pid, SIGINT);
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

START_TEST(an_interrupt_ends_a_stopped_rank_too)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000", "[ $RANK = 1 ] && { : > up-1; kill -STOP $$; };");
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

/* A pager that shows its first page, and stays while `up` is there. */
START_TEST(an_interrupt_is_heeded_while_nobody_reads)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path,
                  "mkfifo full; : > up; while [ -e up ]; do sleep 0.1; done < full & "
                  "exec > full; exec $LAUNCH -n 2 sh -c ': > up-$RANK; exec yes'");
    folder_await(&folder, "up-1");
    usleep(300000); // by then the pipe is full
    kill(program.pid, SIGINT);
    program_wait(&program);
    ck_assert_msg(program.code == 130, "%d: %s", program.code, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* At any moment of the start. */
START_TEST(an_interrupt_during_the_start_leaves_no_process)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path, "exec $LAUNCH -n 8 sleep 1000");
    usleep((useconds_t)(_i * 3000));
    kill(program.pid, SIGINT);
    program_wait(&program);
    ck_assert_int_eq(program.code, 130);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(nothing_that_a_rank_started_outlives_the_job)
{
    program_expect("exec $LAUNCH -n 2 sh -c 'sleep 1000 & exit 0'", 0, "");
    program_expect("exec $LAUNCH -n 2 sh -c 'sleep 1000 > /dev/null 2>&1 & exit 0'", 0, "");
}
END_TEST

Suite *launch_end_suite(void)
{
    Suite *suite = suite_create("launch_end");
    TCase *tcase = tcase_create("launch_end");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_rank_that_fails_ends_the_job_and_is_named, 0, FAILURES);
    tcase_add_test(tcase, ranks_that_do_not_heed_sigterm_are_killed_after_the_grace);
    tcase_add_loop_test(tcase, a_signal_to_the_launcher_leaves_no_process, 0, 4);
    tcase_add_test(tcase, a_second_interrupt_waits_for_no_grace);
    tcase_add_test(tcase, two_interrupts_at_once_leave_no_process);
    tcase_add_test(tcase, an_interrupt_ends_a_stopped_rank_too);
    tcase_add_test(tcase, an_interrupt_is_heeded_while_nobody_reads);
    tcase_add_loop_test(tcase, an_interrupt_during_the_start_leaves_no_process, 0, 6);
    tcase_add_test(tcase, nothing_that_a_rank_started_outlives_the_job);
    suite_add_tcase(suite, tcase);
    return suite;
}
