/* Jobs that fail and are started again: which ones, how often, and that lessons go on where they were. */
#include "common/rng.h"
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096, KILLS = 5 };

/* --- the launcher ---------------------------------------------------------------------------- */

static const struct {
    const char *command;
    int code, starts; // of rank 0
} jobs[] = {
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK'", 0, 1},
    {"exec $LAUNCH -n 2 sh -c 'echo start >> s-$RANK; exit 7'", 7, 1},
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK; [ $RANK = 0 ] || exit 7'", 7,
     3},
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK; [ $RESTART_COUNT = 1 ] || "
     "kill -9 $$'",
     0, 2},
    {"exec $LAUNCH -n 12 --grace 0.2 --max-restarts 4 sh -c 'echo start >> s-$RANK; [ $RANK != 1 ] "
     "|| "
     "exit 7; trap \"\" TERM; while :; do sleep 0.05; done'",
     7, 5}, // the others have to be killed
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK; exit 2'", 2, 1},
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK; exit 3'", 3, 1},
    {"exec $LAUNCH -n 2 --max-restarts 2 sh -c 'echo start >> s-$RANK; [ $RANK = 1 ] || kill -2 "
     "$PPID; "
     "exec sleep 1000'",
     130, 1},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

START_TEST(a_rank_that_failed_starts_the_job_again_and_nothing_else_does)
{
    struct folder folder;
    struct program program;
    char command[COMMAND_BYTES], count[16];
    folder_open(&folder);
    program_run(&program, folder.path, jobs[_i].command);
    ck_assert_msg(program.code == jobs[_i].code, "%s: %d: %s", jobs[_i].command, program.code,
                  program.err);
    ck_assert(program_gone(&program));
    program_close(&program);
    snprintf(command, sizeof command, "exec grep -c start s-0");
    snprintf(count, sizeof count, "%d\n", jobs[_i].starts);
    program_run(&program, folder.path, command);
    ck_assert_msg(strcmp(program.out, count) == 0, "%s: %s starts, not %s", jobs[_i].command,
                  program.out, count);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_restart_is_announced_and_logged_behind_what_is_there)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "\"$LAUNCH\" -n 2 --max-restarts 3 --log-dir logs sh -c 'echo try $RESTART_COUNT; "
                "[ $RESTART_COUNT = 2 ]' > out; cat logs/rank-1.log");
    ck_assert_str_eq(program.out, "try 0\ntry 1\ntry 2\n");
    ck_assert_ptr_nonnull(strstr(program.err, "restart 1 of 3\n"));
    ck_assert_ptr_nonnull(strstr(program.err, "restart 2 of 3\n"));
    ck_assert_ptr_null(strstr(program.err, "restart 3 of 3\n"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Ranks that fail at once: most of the time there is no rank, and some of it no loop. */
START_TEST(a_signal_between_two_starts_ends_the_job)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "for i in $(seq 30); do \"$LAUNCH\" -n 1 --max-restarts 1000000 false 2> err & "
                "until grep -q 'restart 2 of' err; do :; done; sleep 0.0$i; kill -TERM $!; "
                "wait $!; echo $?; done");
    size_t told = 0;
    for (const char *line = program.out; *line; line = strchr(line, '\n') + 1) {
        ck_assert_msg(strncmp(line, "143\n", 4) == 0 || strncmp(line, "1\n", 2) == 0, "%s", line);
        told++;
    }
    ck_assert_uint_eq(told, 30);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* 50, 100, 200 and 400 milliseconds. */
START_TEST(the_pause_before_a_restart_grows)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "\"$LAUNCH\" -n 1 --max-restarts 4 false");
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(program.seconds > 0.75, "%g s", program.seconds);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- lessons --------------------------------------------------------------------------------- */

/* Who is killed, and how long after the first save of a start, is drawn anew in every run of the suite;
 * RESTARTS_SEED repeats a draw. */
static void choose_seed(void)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)time(NULL) * 100000 + getpid() % 100000);
    setenv("RESTARTS_SEED", text, 0);
    printf("restarts: RESTARTS_SEED=%s draws who is killed, and when\n", getenv("RESTARTS_SEED"));
}

/* "2 0 1 1 2" and "13 4 0 39 21": a rank and milliseconds for each start that is to fail. */
static void draw(uint64_t seed, int world, char victims[64], char delays[64])
{
    enum { DELAY_MOST_MS = 40 };
    struct rng rng = {.seed = seed, .stream = RNG_TEST};
    victims[0] = delays[0] = '\0';
    for (uint64_t start = 0; start < KILLS; start++) {
        char one[32];
        snprintf(one, sizeof one, "%u ", rng_bits(&rng, 2 * start) % (unsigned)world);
        lesson_row(victims, 64, one);
        snprintf(one, sizeof one, "0.%03u ", rng_bits(&rng, 2 * start + 1) % DELAY_MOST_MS);
        lesson_row(delays, 64, one);
    }
}

/* One rank of each start is killed some time after there is a save newer than the start, so that each gets a
 * little further; often that is within another save. A start that is to be killed has no end in sight, or a
 * fast machine reaches it first; the last one makes 20 updates more than the newest save. */
static const char killed[] =
    "export OPENBLAS_NUM_THREADS=1; bin=\"${LAUNCH%%/*}\"; \"$LAUNCH\" -n %d --max-restarts %d sh "
    "-c '"
    "victims=$1 delays=$2 lesson=$3 field=$((RESTART_COUNT + 1)); shift 3; touch began-$RANK; "
    "steps=1000000000; victim=$(echo \"$victims\" | cut -s -d\" \" -f$field); "
    "if [ \"$victim\" = $RANK ]; then "
    "(until find s -name manifest.json -newer began-$RANK 2> /dev/null | grep -q .; "
    "do sleep 0.003; done; sleep $(echo \"$delays\" | cut -d\" \" -f$field); kill -9 $$) & fi; "
    "if [ -z \"$victim\" ]; then "
    "steps=$(($(ls s | grep -x \"update-[0-9]*\" | sed \"s/update-0*//\" | sort -n | tail -n 1) + "
    "20)); "
    "echo $steps > steps-$RANK; fi; "
    "exec \"$lesson\" \"$@\" --steps $steps' sh \"%s\" \"%s\" \"$bin/%s\" --no-verify --hidden 9 "
    "%s "
    "--save s --save-every 7 --resume auto --metrics m.jsonl > out; code=$?; cat steps-0; exit "
    "$code";

static const struct {
    struct lesson lesson;
    const char *program, *flags;
} undisturbed[] = {
    {{1, 1}, "lesson01_single", "--optimizer adam"},
    {{2, 3}, "lesson02_allreduce", ""},
    {{3, 4}, "lesson03_ddp", "--clip 1"},
    {{4, 3}, "lesson04_zero", "--optimizer adamw"},
    {{4, 4}, "lesson04_zero", "--stage 2"},
    {{4, 3}, "lesson04_zero", "--optimizer adam --stage 3 --clip 1"},
};
enum { UNDISTURBED = sizeof undisturbed / sizeof *undisturbed };

/* Check passes on no more than some kilobytes. */
static const char *last_words(const struct program *program)
{
    enum { WORDS_BYTES = 1500 };
    size_t length = strlen(program->err);
    return program->err + (length > WORDS_BYTES ? length - WORDS_BYTES : 0);
}

START_TEST(a_job_killed_five_times_is_the_job_that_never_was)
{
    struct lesson lesson = undisturbed[_i].lesson;
    const char *flags = undisturbed[_i].flags;
    char command[COMMAND_BYTES], victims[64], delays[64], what[192];
    uint64_t seed = strtoull(getenv("RESTARTS_SEED"), NULL, 10);
    struct folder folder;
    struct program program;
    draw(seed + (uint64_t)_i, lesson.world, victims, delays);
    snprintf(what, sizeof what, "RESTARTS_SEED=%llu: ranks %sare killed, %ss after a save",
             (unsigned long long)seed, victims, delays);
    folder_open(&folder);
    snprintf(command, sizeof command, killed, lesson.world, KILLS, victims, delays,
             undisturbed[_i].program, flags);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s: %s", what, last_words(&program));
    ck_assert_msg(strstr(program.err, "restart 5 of 5") != NULL, "%s: %s", what,
                  last_words(&program));
    int steps = atoi(program.out);
    ck_assert_msg(steps > 20, "%s: %d updates", what,
                  steps); // a kill may come before a save is whole
    program_close(&program);
    snprintf(command, sizeof command, "--no-verify --steps %d --hidden 9 %s --save u", steps,
             flags);
    lesson_ok(&folder, lesson, command);
    lesson_saves_equal(&folder, "s", "u", what);
    snprintf(command, sizeof command,
             "f=m.jsonl; [ -e $f ] || f=m.rank-0.jsonl; grep -o "
             "'^{\"event\":\"step\",\"step\":[0-9]*' $f "
             "| grep -o '[0-9]*$' > steps; seq 0 %d | cmp - steps",
             steps - 1);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s: metrics: %s%s", what, program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(auto_resumes_what_there_is_and_a_finished_run_is_no_error)
{
    struct folder folder;
    struct program program;
    struct lesson lesson = {3, 2};
    folder_open(&folder);
    lesson_fails(&folder, lesson, "--steps 4 --resume auto", 2, "give --save");
    lesson_ok(&folder, lesson, "--steps 4 --save s --resume auto");
    lesson_run(&program, &folder, lesson, "--steps 4 --save s --resume auto");
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "nothing is left to do"));
    program_close(&program);
    lesson_ok(&folder, lesson, "--steps 6 --save s --resume auto");
    lesson_ok(&folder, lesson, "--steps 6 --save t");
    lesson_saves_equal(&folder, "s", "t", "resumed");
    folder_close(&folder);
}
END_TEST

/* A disk that is not mounted. */
START_TEST(a_checkpoint_that_cannot_be_reached_is_not_none)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir s; ln -s /none/c s/update-00000002");
    program_close(&program);
    lesson_fails(&folder, (struct lesson){3, 2}, "--steps 4 --save s --resume auto", 1,
                 "s/update-00000002");
    folder_close(&folder);
}
END_TEST

/* As on two machines of which one has lost its disk. */
START_TEST(ranks_that_find_different_checkpoints_are_told)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){2, 2}, "--steps 4 --hidden 9 --save s");
    program_run(
        &program, folder.path,
        "mkdir 0 1; cp -r s 0; exec \"$LAUNCH\" -n 2 sh -c 'cd $RANK; exec \"$0\" --steps 6 "
        "--hidden 9 --save s --resume auto' \"${LAUNCH%/*}/lesson02_allreduce\"");
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.err, "rank 0 has a checkpoint of 4 updates and rank 1 one of 0") !=
                      NULL,
                  "%s", program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *restarts_suite(void)
{
    Suite *suite = suite_create("restarts");
    choose_seed();
    TCase *tcase = tcase_create("restarts");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, a_rank_that_failed_starts_the_job_again_and_nothing_else_does, 0,
                        JOBS);
    tcase_add_test(tcase, a_restart_is_announced_and_logged_behind_what_is_there);
    tcase_add_test(tcase, a_signal_between_two_starts_ends_the_job);
    tcase_add_test(tcase, the_pause_before_a_restart_grows);
    tcase_add_test(tcase, auto_resumes_what_there_is_and_a_finished_run_is_no_error);
    tcase_add_test(tcase, a_checkpoint_that_cannot_be_reached_is_not_none);
    tcase_add_test(tcase, ranks_that_find_different_checkpoints_are_told);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("killed"); // CK_RUN_CASE=killed runs it alone
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, a_job_killed_five_times_is_the_job_that_never_was, 0, UNDISTURBED);
    suite_add_tcase(suite, tcase);
    return suite;
}
