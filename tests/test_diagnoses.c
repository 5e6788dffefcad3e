/* Real runs with a mistake planted, recorded and read by the real doctor: it is named, and nothing else; runs without one are
 * silent; and of ranks that hang the one that holds the others up is told. The whole matrix is `make doctor-matrix`. */
#include "common/zoo.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

enum { COMMAND_BYTES = 1024, HEALTHY = 0, FAILED = 1, USAGE = 2, FINDINGS = 4 };

static const char small[] = "--hidden 9 --batch 128 --steps 28 --quiet --record r";
static const char smaller[] = "--hidden 9 --steps 28 --quiet --record r";

static void ask(struct program *program, const struct folder *folder, const char *arguments)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "exec \"${LAUNCH%%/*}/doctor\" %s", arguments);
    program_run(program, folder->path, command);
}

/* How often `words` stand in text. */
static size_t count_of(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

/* The doctor names these members, at most two, and no other. */
static void expect_named(const struct folder *folder, const char *first, const char *second)
{
    struct program program;
    char quoted[2][64];
    size_t expected = (first != NULL) + (second != NULL);
    ask(&program, folder, "r --json");
    ck_assert_msg(program.code == (expected ? FINDINGS : HEALTHY), "exit code %d\n%s%s",
                  program.code, program.out, program.err);
    snprintf(quoted[0], sizeof quoted[0], "\"member\": \"%s\"", first ? first : "");
    snprintf(quoted[1], sizeof quoted[1], "\"member\": \"%s\"", second ? second : "");
    ck_assert_msg(count_of(program.out, "\"member\"") == expected &&
                      (!first || strstr(program.out, quoted[0])) &&
                      (!second || strstr(program.out, quoted[1])),
                  "expected %s and %s\n%s", first ? first : "none", second ? second : "no other",
                  program.out);
    program_close(&program);
}

/* A lesson and a world for each member, by turns; in lesson 4 a stage, too. */
static struct lesson place_of(int member, char stage[32])
{
    const struct zoo_row *row = &zoo_table[member];
    int number = 2 + member % 3;
    while (!(row->lessons >> number & 1))
        number = number == 4 ? 2 : number + 1;
    *stage = '\0';
    if (number == 4)
        snprintf(stage, 32, "--stage %d", 1 + member / 3 % row->most_stage);
    return (struct lesson){number, 2 + member % 2};
}

/* What needs a resume is saved first, in the midst of an epoch of 12 steps. */
static void record_member(const struct folder *folder, int member, const char *more)
{
    const struct zoo_row *row = &zoo_table[member];
    char stage[32], arguments[COMMAND_BYTES];
    struct lesson lesson = place_of(member, stage);
    const char *optimizer = member % 4 < 2 ? "sgd" : "adam", *needs = row->needs ? row->needs : "";
    if (strcmp(needs, "--resume DIR") == 0) {
        snprintf(arguments, sizeof arguments, "%s %s --optimizer %s --steps 17 --save s", small,
                 stage, optimizer);
        lesson_ok(folder, lesson, arguments);
        needs = "--resume s";
    }
    snprintf(arguments, sizeof arguments, "%s %s --optimizer %s %s --inject %s%s", small, stage,
             optimizer, needs, row->name, more);
    lesson_ok(folder, lesson, arguments);
}

START_TEST(a_planted_mistake_is_named_and_nothing_else)
{
    struct folder folder;
    folder_open(&folder);
    record_member(&folder, _i, "");
    expect_named(&folder, zoo_table[_i].name, NULL);
    folder_close(&folder);
}
END_TEST

static const struct {
    enum zoo_member member, other;
} pairs[] = {
    {ZOO_SUM_NOT_MEAN, ZOO_SHUFFLE_PER_RANK},     {ZOO_MEAN_TWICE, ZOO_STALE_BUCKET},
    {ZOO_SEED_PER_RANK, ZOO_RANK0_LOSS_ONLY},     {ZOO_SAME_DROPOUT, ZOO_SAME_SHARD},
    {ZOO_NO_SET_EPOCH, ZOO_EVAL_PADDING_COUNTED}, {ZOO_BATCH_NOT_DIVIDED, ZOO_SKIP_ONE_RANK}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

START_TEST(two_planted_mistakes_are_both_named)
{
    const char *name = zoo_table[pairs[_i].member].name, *other = zoo_table[pairs[_i].other].name;
    const char *needs = zoo_table[pairs[_i].member].needs;
    struct folder folder;
    char arguments[COMMAND_BYTES];
    snprintf(arguments, sizeof arguments, "%s %s --inject %s,%s", small, needs ? needs : "", name,
             other);
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){3, 3}, arguments);
    expect_named(&folder, name, other);
    folder_close(&folder);
}
END_TEST

static const struct {
    struct lesson lesson;
    const char *flags;
} clean[] = {
    {{1, 1}, "--dropout 0.3 --weight-decay 0.1 --clip 0.5"},
    {{2, 4}, "--optimizer adam --accumulate 3 --clip 0.1"},
    {{2, 3}, "--batch 3 --no-shuffle --algorithm halving --optimizer sgd --momentum 0"},
    {{2, 2}, "--hidden none --data synthetic --schedule halve:5 --drop-last"},
    {{3, 2}, "--precision fp16 --schedule linear --optimizer adamw --weight-decay 0.1"},
    {{3, 3}, "--compress bf16 --error-feedback --bucket-kb 1"},
    {{3, 4}, "--hidden 9,9,9 --layer-drop 0.4 --find-unused --no-verify --freeze fc1"},
    {{3, 2},
     "--hidden 9,9,9 --tie fc3=fc2 --no-bias --per-rank-batch 60 --lr-scale linear --warmup 9"},
    {{4, 3}, "--stage 1 --dropout 0.2 --clip 0.2 --schedule cosine --accumulate 2"},
    {{4, 2}, "--stage 2 --optimizer adam --weight-decay 0.1 --on-nonfinite skip --precision bf16"},
    {{4, 4}, "--stage 3 --optimizer adamw --seed 9 --clip 1 --algorithm direct"},
    {{4, 2}, "--stage 3 --offload . --accumulate 2 --dropout 0.1"},
    {{3, 2}, "--seed 9007199254740993 --dropout 0.001"},
    {{1, 1}, "--no-shuffle --dropout 0.3 --batch 5000 --steps 3"},
    {{2, 2}, "--batch 479 --lr-scale sqrt --lr 0.05 --steps 40"}, // every fourth step has 1 sample
};
enum { CLEAN_RUNS = sizeof clean / sizeof *clean };

START_TEST(a_run_without_a_mistake_is_silent)
{
    struct folder folder;
    char arguments[COMMAND_BYTES];
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s %s", smaller, clean[_i].flags);
    lesson_ok(&folder, clean[_i].lesson, arguments);
    expect_named(&folder, NULL, NULL);
    folder_close(&folder);
}
END_TEST

START_TEST(a_run_that_was_saved_and_resumed_is_silent)
{
    static const char *const flags[] = {"", "--optimizer adam --stage 3",
                                        "--stage 1 --accumulate 2 --clip 0.5"};
    struct lesson lesson = {_i == 0 ? 2 : 4, 2 + _i};
    struct folder folder;
    char arguments[COMMAND_BYTES];
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s %s --steps 7 --save s", small, flags[_i]);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s %s --resume s", small, flags[_i]);
    lesson_ok(&folder, lesson, arguments);
    expect_named(&folder, NULL, NULL);
    folder_close(&folder);
}
END_TEST

/* Another world, the same batch: the first gradients are equal. */
START_TEST(a_reference_of_another_world_bears_a_verdict_out)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1},
              "--hidden 9 --batch 128 --steps 28 --quiet --record healthy");
    record_member(&folder, ZOO_SUM_NOT_MEAN, "");
    ask(&program, &folder, "r healthy");
    ck_assert_msg(program.code == FINDINGS &&
                      strstr(program.out, "the first gradient is 2 times the reference's"),
                  "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    ask(&program, &folder, "healthy r"); // as if the faulty one were the reference
    ck_assert_msg(program.code == HEALTHY && strstr(program.out, "is wrong itself (sum-not-mean)"),
                  "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    lesson_ok(&folder, (struct lesson){3, 3}, small);
    ask(&program, &folder, "r healthy");
    ck_assert_msg(program.code == HEALTHY && strstr(program.out, "times the reference's"),
                  "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 8 --steps 3 --quiet --record healthy");
    ask(&program, &folder, "r healthy");
    ck_assert_msg(program.code == FAILED && strstr(program.err, "is no reference for"), "%d: %s",
                  program.code, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_beginner_is_told_what_how_sure_the_cure_and_where_to_read)
{
    static const char *const told[] = {"1 thing is wrong: mean-twice",
                                       "mean-twice (certain)",
                                       "  what ",
                                       "  evidence ",
                                       "  decided by ",
                                       "  cure       leave out the second division",
                                       "  read       docs/odd-curves.md#mean-twice",
                                       "looked at:"};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    record_member(&folder, ZOO_MEAN_TWICE, "");
    ask(&program, &folder, "r");
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        ck_assert_msg(strstr(program.out, told[i]) != NULL, "'%s' is not in:\n%s", told[i],
                      program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

static const struct {
    const char *arguments;
    int code;
    const char *words;
} commands[] = {
    {"", USAGE, "a record is needed"},
    {"a b c", USAGE, "'c' is a third"},
    {"--yaml a", USAGE, "unknown flag --yaml"},
    {"nowhere", FAILED, "no record is there: expected nowhere/rank-0.jsonl"},
    {"--help", HEALTHY, "usage: doctor RUN [REFERENCE]"},
    {"--version", HEALTHY, "doctor "},
    {"r >/dev/full", FAILED, "cannot write to the standard output"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

START_TEST(command_lines_have_their_exit_codes)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden none --steps 2 --quiet --record r");
    ask(&program, &folder, commands[_i].arguments);
    ck_assert_msg(program.code == commands[_i].code && (strstr(program.out, commands[_i].words) ||
                                                        strstr(program.err, commands[_i].words)),
                  "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Of a process that was killed while it wrote; and of a copy that is not whole. */
START_TEST(half_a_line_is_a_killed_process_where_a_page_ends)
{
    struct folder folder;
    struct program program;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){2, 2}, "--hidden none --steps 40 --quiet --record r");
    snprintf(command, sizeof command,
             "cd r; for f in *.jsonl; do head -c %d $f > half; mv half $f; done", 8192 - _i);
    program_run(&program, folder.path, command);
    program_close(&program);
    ask(&program, &folder, "r");
    ck_assert_msg(_i ? program.code == 1 && strstr(program.err, "cut off")
                     : program.code == 0 && strstr(program.out, "no end"),
                  "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- it hangs ------------------------------------------------------------------------------------ */

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* Until the doctor says so; the test fails after a minute or so. */
static void await_words(const struct folder *folder, int code, const char *words)
{
    struct program program;
    for (int i = 0; i < 600; i++) {
        ask(&program, folder, "r");
        bool said = program.code == code && strstr(program.out, words);
        if (i == 599)
            ck_assert_msg(said, "%d: %s%s", program.code, program.out, program.err);
        program_close(&program);
        if (said)
            return;
        pause_shortly();
    }
}

/* Once it has made steps. */
static pid_t pid_of_rank(const struct folder *folder, const struct program *program, int rank)
{
    char name[32], path[512];
    snprintf(name, sizeof name, "r/rank-%d.jsonl", rank);
    while (access(folder_path(folder, name, path), F_OK) != 0) {
        program_heed_unwritten(program);
        pause_shortly();
    }
    for (;;) {
        static const size_t most =
            64 * 1024; // the first steps are in it, however long the record has become
        char *text = calloc(1, most + 1);
        FILE *file = fopen(path, "r");
        ck_assert(text && file);
        ck_assert_uint_le(fread(text, 1, most, file), most);
        fclose(file);
        const char *pid = strstr(text, "\"pid\":");
        bool steps = strstr(text, "\"event\":\"step\"") != NULL;
        pid_t found = pid ? (pid_t)strtol(pid + strlen("\"pid\":"), NULL, 10) : 0;
        free(text);
        if (steps && found > 1)
            return found;
        pause_shortly();
    }
}

/* Slow links, so that the record does not grow fast. */
START_TEST(a_stopped_and_then_a_killed_rank_are_told_from_those_that_wait)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path,
                  "export OPENBLAS_NUM_THREADS=1; exec \"$LAUNCH\" -n 3 "
                  "\"${LAUNCH%/*}/lesson02_allreduce\" --hidden "
                  "none --epochs 100000 --link 1gbit,10ms --timeout 300 --quiet --record r");
    pid_t pid = pid_of_rank(&folder, &program, 1);
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    await_words(&folder, FINDINGS, "decided by rank 1 is stopped by a signal");
    await_words(&folder, FINDINGS, "it waits for rank");
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    program_wait(&program);
    ck_assert_int_ne(program.code, 0);
    program_close(&program);
    await_words(&folder, FINDINGS, "decided by rank 1 is gone, without an end");
    folder_close(&folder);
}
END_TEST

/* A job that was ended from outside, as by Ctrl-C, is no mistake. */
START_TEST(a_run_that_was_ended_is_told_and_is_no_mistake)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path,
                  "export OPENBLAS_NUM_THREADS=1; exec \"${LAUNCH%/*}/lesson01_single\" --hidden "
                  "none --epochs "
                  "100000 --no-verify --quiet --record r");
    pid_t pid = pid_of_rank(&folder, &program, 0);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    program_wait(&program);
    program_close(&program);
    await_words(&folder, HEALTHY,
                "1 of 1 ranks have not ended by themselves; the run was ended from outside");
    folder_close(&folder);
}
END_TEST

Suite *diagnoses_suite(void)
{
    Suite *suite = suite_create("diagnoses");
    TCase *tcase = tcase_create("diagnoses");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, half_a_line_is_a_killed_process_where_a_page_ends, 0, 2);
    tcase_add_loop_test(tcase, a_planted_mistake_is_named_and_nothing_else, 0, ZOO_MEMBERS);
    tcase_add_loop_test(tcase, two_planted_mistakes_are_both_named, 0, PAIRS);
    tcase_add_loop_test(tcase, a_run_without_a_mistake_is_silent, 0, CLEAN_RUNS);
    tcase_add_loop_test(tcase, a_run_that_was_saved_and_resumed_is_silent, 0, 3);
    tcase_add_test(tcase, a_reference_of_another_world_bears_a_verdict_out);
    tcase_add_test(tcase, a_beginner_is_told_what_how_sure_the_cure_and_where_to_read);
    tcase_add_loop_test(tcase, command_lines_have_their_exit_codes, 0, COMMANDS);
    tcase_add_test(tcase, a_stopped_and_then_a_killed_rank_are_told_from_those_that_wait);
    tcase_add_test(tcase, a_run_that_was_ended_is_told_and_is_no_mistake);
    suite_add_tcase(suite, tcase);
    return suite;
}
