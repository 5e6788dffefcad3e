/* What a disk does to a save: full for one rank or for all, read-only, half a save on it. Nothing is lost. */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 2048 };

static const char one[] = "--hidden 200 --no-verify --steps";

static void must(const struct folder *folder, const char *command)
{
    struct program program;
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s: %s%s", command, program.out, program.err);
    program_close(&program);
}

static void run_steps(const struct folder *folder, struct lesson lesson, int steps,
                      const char *more)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "%s %d %s", one, steps, more);
    lesson_ok(folder, lesson, arguments);
}

/* For rank `victim` no file may grow beyond 20 KiB; the others have all the room there is. */
static const struct {
    struct lesson lesson;
    int victim;
} full[] = {{{1, 1}, 0}, {{2, 2}, 0}, {{4, 3}, 0}, {{4, 3}, 2}};
enum { FULL = sizeof full / sizeof *full };

START_TEST(a_disk_that_is_full_for_one_rank_loses_nothing)
{
    static const char *const names[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                        "lesson04_zero"};
    struct lesson lesson = full[_i].lesson;
    char command[COMMAND_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    run_steps(&folder, lesson, 4, "--save whole");
    run_steps(&folder, lesson, 2, "--save s");
    lesson_write(&folder, "limit.sh",
                 "trap '' XFSZ\n[ ${RANK-0} != $VICTIM ] || ulimit -f 40\nexec \"$@\"\n");
    snprintf(
        command, sizeof command,
        "export OPENBLAS_NUM_THREADS=1 VICTIM=%d; bin=\"${LAUNCH%%/*}\"; exec \"$LAUNCH\" -n %d sh "
        "limit.sh \"$bin/%s\" %s 4 --resume s --save s",
        full[_i].victim, lesson.world, names[lesson.number - 1], one);
    program_run(&program, folder.path, command);
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.err, "cannot write s/update-00000004.tmp-"), "%s", program.err);
    snprintf(command, sizeof command, "first cause: rank %d", full[_i].victim);
    ck_assert_msg(strstr(program.err, command), "%s", program.err);
    program_close(&program);
    must(&folder, "[ \"$(ls s)\" = update-00000002 ]");
    run_steps(&folder, lesson, 4, "--resume s --save s");
    lesson_saves_equal(&folder, "whole", "s", "after the disk was full");
    folder_close(&folder);
}
END_TEST

/* --- a disk of its own ----------------------------------------------------------------------- */

/* False, with a line that says why: this system makes no such disks for us. */
static bool has_disks(const struct folder *folder)
{
    struct program program;
    program_run(&program, folder->path, "unshare -rm sh -c 'mkdir t && mount -t tmpfs none t'");
    bool has = program.code == 0;
    if (!has)
        printf("disk: skipped: no file system of its own for a test: %s", program.err);
    program_close(&program);
    return has;
}

/* Each command begins with mounting; the disk is gone with it. */
static const char *const on_disks[] = {
    /* full before the first file is whole, full when the second save comes, and room again */
    "$first 2 --save t > out && { dd if=/dev/zero of=t/fill bs=4k 2> /dev/null || :; } && ! $first "
    "4 --resume "
    "t "
    "--save t 2> err && grep -q 'No space left on device' err && [ \"$(ls t)\" = \"fill\n"
    "update-00000002\" ] && rm t/fill && $first 4 --resume t --save t && "
    "$bin/consolidate t t.safetensors && cmp t.safetensors whole.safetensors",
    /* read-only: refused before a step is made; to read is enough to go on */
    "$first 2 --save t && mount -o remount,ro t && ! $first 4 --resume t --save t 2> err > out && "
    "grep "
    "-q -e '--save: cannot write into t' err && ! grep -q lesson out && $first 4 --resume t --save "
    "w "
    "&& $bin/consolidate w w.safetensors && cmp w.safetensors whole.safetensors",
};

START_TEST(a_disk_that_is_full_or_read_only_loses_nothing)
{
    char command[COMMAND_BYTES];
    struct folder folder;
    folder_open(&folder);
    if (has_disks(&folder)) {
        run_steps(&folder, (struct lesson){4, 3}, 4, "--save whole");
        lesson_consolidate(&folder, "whole");
        snprintf(command, sizeof command,
                 "set -e; export OPENBLAS_NUM_THREADS=1; bin=${LAUNCH%%/*}; "
                 "first=\"$LAUNCH -n 3 $bin/lesson04_zero %s\"; mount -t tmpfs -o size=300k none "
                 "t; %s\n",
                 one, on_disks[_i]);
        lesson_write(&folder, "disk.sh", command);
        must(&folder, "exec unshare -rm sh disk.sh");
    }
    folder_close(&folder);
}
END_TEST

/* --- half a save ----------------------------------------------------------------------------- */

START_TEST(half_a_save_is_passed_over_or_refused_by_name)
{
    struct lesson lesson = {4, 2};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    run_steps(&folder, lesson, 4, "--save whole");
    run_steps(&folder, lesson, 2, "--save s");
    must(&folder, "mkdir s/update-00000003 s/update-00000004.tmp-999999999 && cp "
                  "s/update-00000002/rank-0.safetensors s/update-00000003 && cp "
                  "s/update-00000002/* s/update-00000004.tmp-999999999");
    run_steps(&folder, lesson, 4, "--resume auto --save s");
    lesson_saves_equal(&folder, "whole", "s", "beside half a save");
    must(&folder, "[ \"$(ls s)\" = update-00000004 ] && rm s/update-00000004/rank-1.safetensors");
    lesson_run(&program, &folder, lesson, "--hidden 200 --steps 6 --resume auto --save s");
    ck_assert_msg(program.code == 1 && strstr(program.err, "s/update-00000004/rank-1.safetensors"),
                  "%d: %s", program.code, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *disk_suite(void)
{
    Suite *suite = suite_create("disk");
    TCase *tcase = tcase_create("disk");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_disk_that_is_full_for_one_rank_loses_nothing, 0, FULL);
    tcase_add_loop_test(tcase, a_disk_that_is_full_or_read_only_loses_nothing, 0, 2);
    tcase_add_test(tcase, half_a_save_is_passed_over_or_refused_by_name);
    suite_add_tcase(suite, tcase);
    return suite;
}
