/* What ranks really keep and send is what the formulas say, byte for byte, for any world and flags. */
#include "lesson02_allreduce/meet.h"
#include "lesson02_allreduce/wire.h"
#include "lesson04_zero/memory_plan.h"
#include "lesson04_zero/traffic_plan.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 5, STEPS = 4 };

/* --- the table ------------------------------------------------------------------------------- */

/* What stands behind `word` in the line that `at` begins, up to its end. */
static const char *numbers_after(const char *at, const char *word, char text[256])
{
    const char *end = strchr(at, '\n'), *from = strstr(at, word);
    ck_assert_msg(end && from && from < end, "no %s in: %.120s", word, at);
    from += strlen(word);
    snprintf(text, 256, "%.*s", (int)(end - from), from);
    return end + 1;
}

/* Every rank has a formula, the same as what was measured, and no peak below it. Returns how many
 * entries there are; ranks that keep the same are one. */
static size_t check_table(const char *out)
{
    size_t entries = 0;
    char formula[256], measured[256], peak[256];
    const char *foot = strstr(out, "buffers of rank 0: ");
    for (const char *at = strstr(out, "] rank "); at && at < foot; at = strstr(at, "] rank ")) {
        at = numbers_after(at, " formula ", formula);
        at = numbers_after(at, " measured", measured);
        at = numbers_after(at, " peak    ", peak);
        ck_assert_str_eq(formula, measured);
        entries++;
        at--; // a line's end: the next entry may begin behind it
    }
    return entries;
}

static const char *const flags[] = {
    "--optimizer adam",
    "--momentum 0 --hidden none",
    "--optimizer adamw --accumulate 3 --bucket-kb 0.004",
    "--recompute 2 --hidden 9,9,9,9 --bucket-kb 1",
    "--compress bf16 --error-feedback --optimizer adam",
    "--precision bf16 --freeze fc1",
    "--data synthetic --batch 2",
    "--trace t.json --tie fc3=fc2 --hidden 8,8,8",
    "--link 1gbit,0.01ms",
    "--offload . --optimizer adam --offload-tile-kb 1",
    "--stage 2 --optimizer adam --bucket-kb 1",
    "--stage 2 --accumulate 3 --compress bf16 --precision fp16",
    "--stage 2 --no-overlap --tie fc3=fc2 --hidden 8,8,8 --save d",
    "--stage 3 --optimizer adamw --hidden 9,9,9 --persist-kb 0.01 --bucket-kb 0.1",
    "--stage 3 --precision bf16 --freeze fc1 --hidden 12,12,12 --recompute 2 --persist-kb 0.1",
    "--stage 3 --tie fc3=fc2 --hidden 8,8,8 --accumulate 2 --persist-kb 0 --dump d",
    "--stage 3 --hidden 9,9 --offload . --compress bf16 --error-feedback",
};
enum { FLAGS = sizeof flags / sizeof *flags };

START_TEST(every_rank_keeps_what_the_formula_says)
{
    struct lesson lesson = {4, _i % WORLDS + 1};
    struct folder folder;
    struct program program;
    char arguments[256];
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--steps %d --verify %d %s", STEPS, _i % 2,
             flags[_i / WORLDS]);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_msg(program.code == 0, "%s: %s%s", arguments, program.out, program.err);
    size_t entries = check_table(program.out);
    ck_assert_msg(entries >= 1 && entries <= (size_t)lesson.world, "%s", program.out);
    ck_assert_ptr_nonnull(strstr(program.out, "memory | of any rank, at most: ledger "));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* 8 ranks, 6 parameters: two own nothing of any bucket, and keep no state. */
START_TEST(a_rank_that_owns_nothing_keeps_no_state)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "line.csv", "1,2,3,4,5,0.5\n2,1,2,1,2,-1.5\n1,1,2,1,1,0.25\n");
    lesson_run(&program, &folder, (struct lesson){4, 8},
               "--data line.csv --task regress --hidden none --steps 2 --optimizer adam");
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    ck_assert_msg(check_table(program.out) == 2, "%s", program.out);
    ck_assert_ptr_nonnull(strstr(program.out, "rank 6-7   formula"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- other lessons, by their metrics --------------------------------------------------------- */

static const char *metrics_name(char name[64], int world, int rank)
{
    if (world == 1)
        snprintf(name, 64, "m.jsonl");
    else
        snprintf(name, 64, "m.rank-%d.jsonl", rank);
    return name;
}

static double last_value(const struct folder *folder, const char *name, const char *key)
{
    double values[8];
    size_t count = lesson_values(folder, name, key, values, 8);
    ck_assert_msg(count == 1, "%s: %zu times %s", name, count, key);
    return values[0];
}

static void check_kept(const struct folder *folder, const struct memory_case *of, int rank)
{
    static const char *const keys[] = {"parameter_bytes",  "gradient_bytes", "optimizer_bytes",
                                       "activation_bytes", "buffer_bytes",   "other_bytes"};
    char name[64];
    struct memory_plan plan = memory_plan_of(of, (size_t)rank);
    metrics_name(name, of->world, rank);
    for (int use = 0; use < MEMORY_USES; use++) {
        double found = last_value(folder, name, keys[use]);
        ck_assert_msg(found == (double)plan.bytes[use], "rank %d, %s: %.0f, by formula %zu", rank,
                      keys[use], found, plan.bytes[use]);
    }
    ck_assert(last_value(folder, name, "peak_bytes") >= (double)plan.total_bytes);
}

/* Within the first epoch, and from step 2 on: what the first parameters take is told with step 0,
 * what lesson 3 sends to rebuild its buckets with step 1. */
static void check_sent(const struct folder *folder, const struct memory_case *of,
                       const struct choice *choice, int rank)
{
    double bytes[STEPS + 1], messages[STEPS + 1];
    char name[64];
    struct traffic_plan plan = traffic_plan_of(of, choice, (size_t)rank);
    metrics_name(name, of->world, rank);
    lesson_values(folder, name, "bytes_sent", bytes, STEPS + 1);
    lesson_values(folder, name, "messages_sent", messages, STEPS + 1);
    for (int step = 2; step < STEPS; step++) {
        double payload = bytes[step] - WIRE_FRAME_BYTES * messages[step];
        ck_assert_msg(payload == (double)plan.total_bytes,
                      "rank %d, step %d: %.0f bytes, by formula %zu", rank, step, payload,
                      plan.total_bytes);
    }
}

static const struct {
    int lesson;
    const char *arguments;
} sent[] = {
    {4, "--optimizer adam"},
    {4, "--algorithm direct --bucket-kb 1"},
    {4, "--algorithm auto --hidden 9 --bucket-kb 0.004"},
    {4, "--compress bf16 --accumulate 2 --clip 1"},
    {4, "--offload . --hidden 200"},
    {4, "--stage 2 --optimizer adam --bucket-kb 1"},
    {4, "--stage 2 --accumulate 3 --algorithm auto"},
    {4, "--stage 3 --hidden 9,9,9 --persist-kb 0 --bucket-kb 0.1"},
    {4, "--stage 3 --hidden 9,9,9 --persist-kb 0.1 --bucket-kb 0.5 --accumulate 2"},
    {4, "--stage 3 --hidden 12,12,12,12 --recompute 2 --persist-kb 0 --freeze fc1"},
    {4, "--stage 3 --compress bf16 --tie fc3=fc2 --hidden 8,8,8 --algorithm direct"},
    {3, "--optimizer adam --accumulate 2"},
    {3, "--algorithm direct"},
    {3, "--algorithm tree --bucket-kb 1"},
    {3, "--algorithm halving --bucket-kb 0.004 --recompute 2 --hidden 9,9,9"},
    {3, "--algorithm root --hidden none"},
    {3, "--compress bf16 --error-feedback"},
    {3, "--precision fp16"},
};
enum { SENT = sizeof sent / sizeof *sent };

START_TEST(lessons_3_and_4_keep_and_send_what_the_formulas_say)
{
    static struct inside inside;
    struct lesson lesson = {sent[_i / WORLDS].lesson, _i % WORLDS + 1};
    char arguments[256];
    struct folder folder;
    struct choice choice;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--steps %d --no-verify --metrics m.jsonl %s", STEPS,
             sent[_i / WORLDS].arguments);
    lesson_ok(&folder, lesson, arguments);
    ck_assert_int_eq(inside_prepare(&inside, lesson.number, lesson.world, arguments), 0);
    ck_assert_int_eq(meet_choice(&inside.run, &choice), 0);
    struct memory_case of = memory_case_of(&inside.run);
    for (int rank = 0; rank < lesson.world; rank++) {
        check_kept(&folder, &of, rank);
        check_sent(&folder, &of, &choice, rank);
    }
    inside_close(&inside);
    folder_close(&folder);
}
END_TEST

START_TEST(lesson_1_keeps_what_the_formula_says)
{
    static struct inside inside;
    struct folder folder;
    static const char arguments[] = "--steps 4 --optimizer adam --metrics m.jsonl";
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    ck_assert_int_eq(inside_prepare(&inside, 1, 1, arguments), 0);
    struct memory_case of = memory_case_of(&inside.run);
    check_kept(&folder, &of, 0);
    inside_close(&inside);
    folder_close(&folder);
}
END_TEST

Suite *ledger_suite(void)
{
    Suite *suite = suite_create("ledger");
    TCase *tcase = tcase_create("table");
    tcase_set_timeout(tcase, 240);
    watched_add_rows(tcase, every_rank_keeps_what_the_formula_says, FLAGS * WORLDS);
    tcase_add_test(tcase, a_rank_that_owns_nothing_keeps_no_state);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("metrics");
    tcase_set_timeout(tcase, 240);
    watched_add_rows(tcase, lessons_3_and_4_keep_and_send_what_the_formulas_say, SENT * WORLDS);
    tcase_add_test(tcase, lesson_1_keeps_what_the_formula_says);
    suite_add_tcase(suite, tcase);
    return suite;
}
