/* Record: its files outlive whatever becomes of a rank or a disk, go on where a run does, and are never another's. */
#include "tests/lessons.h"
#include "tests/records.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND_BYTES = 1024, LOOKS_MOST = 6000 };

/* --- a run that goes on ---------------------------------------------------------------------- */

static const char *const timed[] = {"seconds",         "compute_seconds", "comm_seconds",
                                    "exposed_seconds", "bytes_sent",      "verified"};

static const char *const looked[] = {"raw",          "reduced", "param",    "param_hash",
                                     "dropout_mask", "decayed", "nonfinite"};

/* Two lines of one update are equal, but for what a clock says; and looked at closely in both, or in one of
 * them. */
static void check_same(json_t *line, json_t *other)
{
    bool both = json_object_get(line, "raw") && json_object_get(other, "raw");
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        json_object_del(line, timed[i]);
        json_object_del(other, timed[i]);
    }
    for (size_t i = 0; i < sizeof looked / sizeof *looked && !both; i++) {
        json_object_del(line, looked[i]);
        json_object_del(other, looked[i]);
    }
    char *text = json_dumps(line, JSON_SORT_KEYS), *wanted = json_dumps(other, JSON_SORT_KEYS);
    ck_assert_str_eq(text, wanted);
    free(text);
    free(wanted);
}

static const struct {
    struct lesson lesson;
    const char *flags;
} going_on[] = {
    {{1, 1}, ""},
    {{2, 2}, "--optimizer adam"},
    {{3, 2}, "--accumulate 2 --batch 100"},
    {{4, 3}, "--optimizer adam"},
    {{4, 2}, "--stage 3 --dropout 0.3"},
};
enum { GOING_ON = sizeof going_on / sizeof *going_on };

/* Twice: what the first one did after the save is cut. */
START_TEST(a_resumed_run_goes_on_bit_for_bit)
{
    struct lesson lesson = going_on[_i].lesson;
    struct folder folder;
    struct records whole, parts;
    char arguments[COMMAND_BYTES];
    static const char *const runs[] = {"--steps 12 --record a", "--steps 5 --record b --save s",
                                       "--steps 9 --record b --resume s",
                                       "--steps 12 --record b --resume s"};
    folder_open(&folder);
    for (size_t i = 0; i < 4; i++) {
        snprintf(arguments, sizeof arguments, "--no-verify --hidden 9 --batch 200 %s %s",
                 going_on[_i].flags, runs[i]);
        lesson_ok(&folder, lesson, arguments);
    }
    records_read(&whole, &folder, "a", lesson.world);
    records_read(&parts, &folder, "b", lesson.world);
    for (int rank = 0; rank < lesson.world; rank++) {
        ck_assert_uint_eq(records_count(&parts, rank, "step"), 12);
        ck_assert_uint_eq(records_count(&parts, rank, "start"), 2);
        ck_assert_uint_eq(records_count(&parts, rank, "end"), 1);
        const json_t *start = records_line(&parts, rank, "start", 1);
        ck_assert(records_real(start, "first") == 5 && records_real(start, "state_norm") > 0);
        for (size_t step = 0; step < 12; step++)
            check_same((json_t *)records_line(&parts, rank, "step", step),
                       (json_t *)records_line(&whole, rank, "step", step));
    }
    records_release(&whole);
    records_release(&parts);
    folder_close(&folder);
}
END_TEST

/* --- whose files ----------------------------------------------------------------------------- */

START_TEST(fewer_ranks_leave_nothing_of_more)
{
    struct folder folder;
    struct records records;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){2, 4}, "--steps 2 --hidden none --record r");
    lesson_write(&folder, "r/rank-3.jsonl", "this is not ours\n");
    lesson_ok(&folder, (struct lesson){2, 2}, "--steps 3 --hidden none --record r");
    records_read(&records, &folder, "r", 2);
    ck_assert_uint_eq(records_count(&records, 1, "step"), 3);
    program_run(&program, folder.path, "ls r");
    ck_assert_str_eq(program.out,
                     "rank-0.jsonl\nrank-0.now\nrank-1.jsonl\nrank-1.now\nrank-3.jsonl\n"
                     "rank-3.now\n");
    program_close(&program);
    records_release(&records);
    folder_close(&folder);
}
END_TEST

static const struct {
    struct lesson lesson;
    const char *arguments;
    int code;
    const char *words;
} refused[] = {
    {{2, 2}, "--record r --bench", 2, "--bench and --record exclude each other"},
    {{3, 2}, "--record r --explain", 2, "--explain and --record exclude each other"},
    {{4, 2}, "--record r --plan", 2, "--plan and --record exclude each other"},
    {{1, 1}, "--record none/r", 1, "--record: cannot make the directory none/r: No such file"},
    {{1, 1}, "--record file", 1, "--record: cannot write 'file/rank-0.jsonl': Not a directory"},
    {{3, 3}, "--record other", 1, "'other/rank-1.jsonl' is there and is no record of a run"},
    {{2, 2}, "--record older", 1, "'older/rank-1.jsonl' is there and is no record of a run"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(what_cannot_be_recorded_is_refused_by_name)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir other older && echo text > file");
    program_close(&program);
    lesson_write(&folder, "other/rank-1.jsonl", "1,2,3\n");
    lesson_write(&folder, "older/rank-1.jsonl", "{\"event\":\"step\",\"step\":0}\n");
    lesson_fails(&folder, refused[_i].lesson, refused[_i].arguments, refused[_i].code,
                 refused[_i].words);
    char *kept = lesson_text(&folder, "other/rank-1.jsonl");
    ck_assert_str_eq(kept, "1,2,3\n");
    free(kept);
    folder_close(&folder);
}
END_TEST

/* No file may grow beyond so many blocks of 512 bytes: what was written before is whole. */
static const int blocks[] = {1, 8, 20};

START_TEST(a_full_disk_is_told_and_cuts_no_line)
{
    struct folder folder;
    struct program program;
    struct records records;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    snprintf(
        command, sizeof command,
        "export OPENBLAS_NUM_THREADS=1; trap '' XFSZ; ulimit -f %d; "
        "exec \"${LAUNCH%%/*}/lesson01_single\" --hidden none --steps 40 --no-verify --record r",
        blocks[_i]);
    program_run(&program, folder.path, command);
    ck_assert_msg(
        program.code == 1 &&
            strstr(program.err, "--record: writing 'r/rank-0.jsonl' failed: File too large"),
        "%d: %s%s", program.code, program.out, program.err);
    records_read(&records, &folder, "r", 1);
    ck_assert(json_array_size(records.lines[0]) > 0 || _i == 0);
    ck_assert_uint_eq(records_count(&records, 0, "end"), 0);
    records_release(&records);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- killed, stopped ------------------------------------------------------------------------- */

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Waits until a file holds these words; its text, or NULL after a minute. free is due. */
static char *await_words(const struct program *program, const struct folder *folder,
                         const char *name, const char *words)
{
    char path[512];
    for (int look = 0; look < LOOKS_MOST; look++, nap()) {
        if (look % 200 == 199)
            program_heed_unwritten(program);
        if (access(folder_path(folder, name, path), R_OK) != 0)
            continue;
        char *text = lesson_text(folder, name);
        if (strstr(text, words))
            return text;
        free(text);
    }
    ck_abort_msg("%s: no %s", name, words);
    return NULL;
}

/* A long run of two, begun; the process id of its rank 1. */
static pid_t start_pair(struct program *program, const struct folder *folder, int lesson)
{
    static const char *const names[] = {"lesson02_allreduce", "lesson03_ddp", "lesson04_zero"};
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1; exec \"$LAUNCH\" -n 2 \"${LAUNCH%%/*}/%s\" --hidden 9 "
             "--epochs 1000000 --no-verify --quiet --transport %s --record r",
             names[lesson - 2], lesson == 3 ? "unix" : "tcp");
    program_start(program, folder->path, command);
    char *text = await_words(program, folder, "r/rank-1.jsonl", "\"step\":9,");
    long pid = strtol(strstr(text, "\"pid\":") + strlen("\"pid\":"), NULL, 10);
    free(text);
    ck_assert(pid > 1);
    return (pid_t)pid;
}

START_TEST(a_killed_rank_leaves_whole_lines_and_no_end)
{
    struct folder folder;
    struct program program;
    struct records records;
    folder_open(&folder);
    pid_t victim = start_pair(&program, &folder, 2 + _i);
    kill(victim, SIGKILL);
    program_wait(&program);
    ck_assert_int_ne(program.code, 0);
    records_read(&records, &folder, "r", 2);
    ck_assert_uint_eq(records_count(&records, 1, "end"), 0);
    ck_assert_uint_ge(records_count(&records, 1, "step"), 10);
    const json_t *end = records_line(&records, 0, "end", 0);
    ck_assert(end && records_real(end, "exit_code") == 1);
    records_release(&records);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Rank 1 stops, and so rank 0 waits for it. That is still told when both are dead. */
START_TEST(who_waits_for_a_stopped_rank_is_told_even_dead)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    pid_t victim = start_pair(&program, &folder, 2 + _i);
    kill(victim, SIGSTOP);
    for (bool waits = false; !waits; nap()) { // a short wait of before may be over yet
        char *text = await_words(&program, &folder, "r/rank-0.now", "\"awaits\":[1]");
        nap();
        char *later = lesson_text(&folder, "r/rank-0.now");
        waits = strcmp(text, later) == 0;
        free(text);
        free(later);
    }
    char *text = lesson_text(&folder, "r/rank-0.now");
    ck_assert_uint_eq(strlen(text), 256);
    json_t *now = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(records_real(now, "call") > 9 && records_real(now, "clock") > 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(now, "text")), "call "));
    json_decref(now);
    kill(program.pid, SIGKILL);
    kill(victim, SIGKILL);
    program_wait(&program);
    char *last = lesson_text(&folder, "r/rank-0.now");
    ck_assert_ptr_nonnull(strstr(last, "\"awaits\":[1]"));
    free(last);
    free(text);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- a step that is skipped ------------------------------------------------------------------ */

START_TEST(a_skipped_step_says_whose_numbers_were_not_finite)
{
    struct folder folder;
    struct records records;
    folder_open(&folder);
    lesson_write(&folder, "bad.csv", "1,0.5\n2,0.5\n1,1\n3e38,1\n1,1\n2,1\n");
    lesson_ok(&folder, (struct lesson){2 + _i, 2},
              "--data bad.csv --task regress --hidden none --no-shuffle --batch 2 --init const:2 "
              "--on-nonfinite skip --steps 3 --no-verify --record r");
    records_read(&records, &folder, "r", 2);
    for (int rank = 0; rank < 2; rank++)
        for (size_t step = 0; step < records_count(&records, rank, "step"); step++) {
            const json_t *line = records_line(&records, rank, "step", step);
            bool skipped = json_is_false(json_object_get(line, "updated"));
            ck_assert(json_is_null(json_object_get(line, "reduced")) == skipped);
            ck_assert(json_is_null(json_object_get(line, "clip")) == skipped);
            ck_assert(skipped || json_is_false(json_object_get(line, "nonfinite")));
            ck_assert_msg(skipped == (step == 1), "step %zu", step);
            ck_assert(!skipped || json_is_true(json_object_get(line, "nonfinite")) == (rank == 1));
        }
    records_release(&records);
    folder_close(&folder);
}
END_TEST

Suite *record_files_suite(void)
{
    Suite *suite = suite_create("record_files");
    TCase *tcase = tcase_create("files");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, a_resumed_run_goes_on_bit_for_bit, 0, GOING_ON);
    tcase_add_test(tcase, fewer_ranks_leave_nothing_of_more);
    tcase_add_loop_test(tcase, what_cannot_be_recorded_is_refused_by_name, 0, REFUSED);
    tcase_add_loop_test(tcase, a_full_disk_is_told_and_cuts_no_line, 0, 3);
    tcase_add_loop_test(tcase, a_killed_rank_leaves_whole_lines_and_no_end, 0, 3);
    tcase_add_loop_test(tcase, who_waits_for_a_stopped_rank_is_told_even_dead, 0, 3);
    tcase_add_loop_test(tcase, a_skipped_step_says_whose_numbers_were_not_finite, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
