/* Whole jobs under the launcher, at the sizes their users run: a rank is killed in the middle of a
 * long exchange, one stops, one pauses; and a hundred that end well say nothing. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 2048, SCRIPT_BYTES = 1024, AT_A_TIME = 10, BATCHES = 10 };

/* Rank R's process writes its number to pid-R, then becomes $lesson with $arguments. */
static const char beginning[] =
    "export OPENBLAS_NUM_THREADS=1 arguments lesson=\"${LAUNCH%/*}/lesson02_allreduce\"; "
    "await() { until grep -qs -e \"$1\" \"$2\"; do sleep 0.01; done; }; "
    "job() { \"$LAUNCH\" --grace 1 -n $1 sh -c 'echo $$ > pid-$RANK; exec \"$lesson\" $arguments'; "
    "}; ";

static void run(struct program *program, const struct folder *folder, const char *script)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "%s%s", beginning, script);
    program_run(program, folder->path, command);
    ck_assert_msg(program_gone(program), "a process is left: %s", program->err);
}

static void says(const struct program *program, const char *words)
{
    ck_assert_msg(strstr(program->err, words) != NULL, "not: %s\nbut: %s", words, program->err);
}

/* Four ranks reduce 64 MiB again and again, the bench's last size; sanitized ones 4 MiB, or it would take
 * minutes, and may be at the next size by then. */
static const char *const row_before = WATCHED ? " 1048576 " : " 16777216 ";
static const char *const long_call = WATCHED ? "ring all-reduce of " : "all-reduce of 16777216 f32";

/* Whether it was in the long call that the others missed it: it may have been between two measurements, or, on a
 * machine that has much else to do, they may not come to a word in the second that the launcher leaves them. */
static bool kill_one(const struct folder *folder, const char *transport)
{
    char script[SCRIPT_BYTES];
    struct program program;
    snprintf(script, sizeof script,
             "rm -f out pid-*; arguments='--bench --algorithm ring --transport %s'; job 4 > out & "
             "await '%s' out; sleep 0.1; kill -9 $(cat pid-1); wait $!",
             transport, row_before);
    run(&program, folder, script);
    ck_assert_msg(program.code == 128 + 9, "%d: %s", program.code, program.err);
    says(&program, "launch: first cause: rank 1 was killed by signal 9");
    ck_assert_msg(!strstr(program.err, "signal 13"), "%s", program.err);
    bool spoken =
        !strstr(program.err, "rank 0 was stopped, rank 2 was stopped, rank 3 was stopped");
    if (spoken)
        says(&program, "rank 1 closed the connection");
    bool within = spoken && strstr(program.err, long_call);
    program_close(&program);
    return within;
}

START_TEST(a_rank_killed_in_a_long_exchange_is_the_first_cause)
{
    enum { TRIES = 10 };
    static const char *const transports[] = {"tcp", "unix"};
    struct folder folder;
    bool within = false;
    folder_open(&folder);
    for (int i = 0; i < TRIES && !within; i++)
        within = kill_one(&folder, transports[_i]);
    ck_assert_msg(within, "in %d tries nobody said: %s", TRIES, long_call);
    folder_close(&folder);
}
END_TEST

/* In the middle of training, in an all-reduce or an all-gather; and while it connects. */
static const struct {
    const char *moment, *said[3];
} stops[] = {
    {"await step m.rank-1.jsonl", {"all-", ": rank 1 has ", " for "}},
    {"await . pid-1", {"launch: first cause: rank ", "rank 1 ", "in consequence"}},
};

START_TEST(a_rank_that_stops_is_named_at_the_deadline)
{
    char script[SCRIPT_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    snprintf(script, sizeof script,
             "arguments='--epochs 100000 --no-verify --quiet --timeout 5 --metrics m.jsonl'; "
             "job 3 > out & %s; kill -STOP $(cat pid-1); wait $!",
             stops[_i].moment);
    run(&program, &folder, script);
    ck_assert_msg(program.code == 1, "%d: %s", program.code, program.err);
    for (int i = 0; i < 3; i++)
        says(&program, stops[_i].said[i]);
    says(&program, "; rank 1 was held by signal ");
    ck_assert(program.seconds > 4.9);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_rank_that_pauses_is_waited_for)
{
    struct program program;
    struct folder folder;
    folder_open(&folder);
    run(&program, &folder,
        "arguments='--steps 5000 --quiet --metrics m.jsonl'; job 3 > out & "
        "await step m.rank-1.jsonl; kill -STOP $(cat pid-1); sleep 1; kill -CONT $(cat pid-1); "
        "wait $!");
    ck_assert_msg(program.code == 0, "%d: %s", program.code, program.err);
    ck_assert(program.seconds > 1);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Each of four ranks ends up to 0.2 s after its training, drawn from the numbers of job and rank. What a
 * machine that is slow to start them makes them say, for whom they wait, is no noise. */
START_TEST(a_hundred_jobs_that_end_well_are_quiet)
{
    char script[SCRIPT_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    snprintf(script, sizeof script,
             "one() { \"$LAUNCH\" -n 4 sh -c '\"$lesson\" --steps 2 --quiet || exit 9; "
             "exec sleep 0.$(printf %%02d $((('$1' * 31 + RANK * 17) %% 21)))'; }; "
             "i=0; while [ $i -lt %d ]; do one $((%d + i)) > /dev/null 2> said-$i & "
             "pids=\"$pids $!\"; i=$((i + 1)); done; for p in $pids; do wait $p || bad=$?; done; "
             "grep -h -v ' waits at 127.0.0.1:' said-* >&2; exit $((bad))",
             AT_A_TIME, AT_A_TIME * _i);
    run(&program, &folder, script);
    ck_assert_msg(program.code == 0 && ranks_quiet(program.err), "%d: %s", program.code,
                  program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *jobs_suite(void)
{
    Suite *suite = suite_create("jobs");
    TCase *tcase = tcase_create("jobs");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_rank_killed_in_a_long_exchange_is_the_first_cause, 0, 2);
    tcase_add_loop_test(tcase, a_rank_that_stops_is_named_at_the_deadline, 0, 2);
    tcase_add_test(tcase, a_rank_that_pauses_is_waited_for);
    watched_add_rows(tcase, a_hundred_jobs_that_end_well_are_quiet, BATCHES);
    suite_add_tcase(suite, tcase);
    return suite;
}
