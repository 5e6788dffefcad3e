/* Whole runs on sockets that pass on less than was asked, or nothing, or are interrupted: by the
 * library tests/shim/short_io.c in front of each rank's. */
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

enum { WORLD = 3, COMMAND_BYTES = 1024 };

static const struct {
    int lesson;
    const char *arguments;
} runs[] = {
    {2, "--algorithm ring --transport tcp"},    {2, "--algorithm ring --transport unix"},
    {2, "--algorithm root --transport tcp"},    {2, "--algorithm tree --transport unix"},
    {2, "--algorithm halving --transport tcp"}, {2, "--algorithm direct --transport unix"},
    {3, "--algorithm ring --transport tcp"},    {3, "--algorithm direct --transport unix"},
    {4, "--algorithm ring --transport unix"},   {4, "--algorithm direct --transport tcp"},
};
enum { RUNS = sizeof runs / sizeof *runs };

static const char steps[] = "--steps 4 --batch 60 --dump-steps 4 --verify 4";

/* The Makefile builds it on Linux, and under no sanitizer: that wants to come first itself. */
static bool is_built(const struct folder *folder)
{
    struct program program;
    program_run(&program, folder->path, "[ -r \"${LAUNCH%/*}/short_io.so\" ]");
    bool built = program.code == 0;
    if (!built)
        printf("short_io: skipped: the library is for Linux, and for programs no sanitizer "
               "watches\n");
    program_close(&program);
    return built;
}

/* Each rank met every kind of trouble. */
static void check_counts(const struct folder *folder)
{
    struct program program;
    program_run(&program, folder->path, "cat counts-*");
    const char *line = program.out;
    for (int rank = 0; rank < WORLD; rank++) {
        unsigned long cut, again, interrupted;
        int used = 0;
        int read = sscanf(line, "short %lu again %lu interrupted %lu\n%n", &cut, &again,
                          &interrupted, &used);
        ck_assert_msg(read == 3 && cut > 0 && again > 0 && interrupted > 0, "rank %d: %s", rank,
                      line);
        line += used;
    }
    ck_assert_str_eq(line, "");
    program_close(&program);
}

static void run_in_trouble(const struct folder *folder, int number)
{
    char command[COMMAND_BYTES];
    struct program program;
    /* Every call of the second round is in trouble, the last read before a hang-up too. */
    int row = number % RUNS, one_in = number < RUNS ? 3 : 1;
    snprintf(
        command, sizeof command,
        "export OPENBLAS_NUM_THREADS=1; lesson=$(echo \"${LAUNCH%%/*}\"/lesson0%d_*); "
        "exec \"$LAUNCH\" -n %d env SHORT_IO_SEED=%d SHORT_IO_ONE_IN=%d SHORT_IO_COUNTS=counts- "
        "LD_PRELOAD=\"${LAUNCH%%/*}/short_io.so\" \"$lesson\" %s %s --dump trouble",
        runs[row].lesson, WORLD, number + 1, one_in, steps, runs[row].arguments);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0 && ranks_quiet(program.err), "lesson %d %s: %d: %s%s",
                  runs[row].lesson, runs[row].arguments, program.code, program.out, program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "verify step 3"));
    program_close(&program);
}

START_TEST(sockets_that_pass_on_less_change_no_bit_of_a_run)
{
    char arguments[COMMAND_BYTES];
    struct folder folder;
    folder_open(&folder);
    if (is_built(&folder)) {
        snprintf(arguments, sizeof arguments, "%s %s --dump plain", steps,
                 runs[_i % RUNS].arguments);
        ck_assert_uint_gt(
            lesson_ok(&folder, (struct lesson){runs[_i % RUNS].lesson, WORLD}, arguments), 0);
        run_in_trouble(&folder, _i);
        check_counts(&folder);
        lesson_dumps_equal(&folder, "plain trouble");
    }
    folder_close(&folder);
}
END_TEST

Suite *short_io_suite(void)
{
    Suite *suite = suite_create("short_io");
    TCase *tcase = tcase_create("short_io");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, sockets_that_pass_on_less_change_no_bit_of_a_run, 0, 2 * RUNS);
    suite_add_tcase(suite, tcase);
    return suite;
}
