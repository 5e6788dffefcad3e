/* Many short jobs, one after another and many at once: no port is lost in a race, nothing is said
 * on the standard error. LAUNCHES=200 runs so many. And how much memory one takes. */
#include "tests/lessons.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { BATCH = 20, IN_SEQUENCE = 5, BATCHES_MOST = 1000, COMMAND_BYTES = 1024 };

static const char *const transports[] = {"tcp", "unix"};

static void launch_batch(const struct folder *folder, const char *transport)
{
    char command[COMMAND_BYTES];
    struct program program;
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1; "
             "job=\"$LAUNCH -n 2 ${LAUNCH%%/*}/lesson02_allreduce --steps 1 --transport %s\"; "
             "i=0; while [ $i -lt %d ]; do $job > $i & pids=\"$pids $!\"; i=$((i+1)); done; "
             "for p in $pids; do wait $p || exit 1; done; "
             "while [ $i -lt %d ]; do $job > $i || exit 1; i=$((i+1)); done; "
             "grep -l '^.0. result' * | wc -l",
             transport, BATCH - IN_SEQUENCE, BATCH);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s: %d: %s", transport, program.code, program.err);
    ck_assert_msg(ranks_quiet(program.err), "expected nothing, found: %s", program.err);
    ck_assert_int_eq(atoi(program.out), BATCH);
    program_close(&program);
}

START_TEST(jobs_in_sequence_and_at_once_all_succeed_quietly)
{
    const char *launches = getenv("LAUNCHES");
    int batches = launches ? atoi(launches) / BATCH : 1;
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < batches && i < BATCHES_MOST; i++)
        launch_batch(&folder, transports[_i]);
    folder_close(&folder);
}
END_TEST

/* Of a rank, buffers included: the digits' network has few. The children of this process are those of
 * the test alone, for Check forks; where it does not, earlier tests' children may be larger. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
enum { RESIDENT_MOST_KIB = 24 * 1024 };

START_TEST(a_rank_takes_less_than_24_mebibytes)
{
    struct folder folder;
    struct rusage usage;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){_i, 4}, "--epochs 1");
    ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &usage), 0);
    ck_assert_int_gt(usage.ru_maxrss, 0);
    ck_assert_int_lt(usage.ru_maxrss, RESIDENT_MOST_KIB);
    folder_close(&folder);
}
END_TEST
#endif

Suite *launches_suite(void)
{
    Suite *suite = suite_create("launches");
    TCase *tcase = tcase_create("launches");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, jobs_in_sequence_and_at_once_all_succeed_quietly, 0, 2);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    tcase_add_loop_test(tcase, a_rank_takes_less_than_24_mebibytes, 2, 5);
#endif
    suite_add_tcase(suite, tcase);
    return suite;
}
