/*
 * Flags together: of every two values that a lesson takes, some run has both. Each run verifies its
 * first steps against the lesson below and must end with "all hold"; pairs that make no sense are in
 * a table of their own, and are refused before any rank starts to work. LONG=1 walks other rows too.
 */
#include "tests/lessons.h"
#include "tests/pairs.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALKS = 4, SAMPLES = 61, ARGUMENTS_BYTES = 1024, LONG_TURNS = 6 };

/* Common to all lessons. */
static const struct pairs_factor common_factors[] = {
    {{"--data c.csv --test-data c.csv", "--data r.csv --test-data r.csv --task regress"}},
    {{"--hidden none", "--hidden 6,6", "--hidden 6,5,4", "--hidden 6,6,6 --tie fc3=fc2",
      "--hidden 6,5,4 --freeze fc2"}},
    {{"", "--no-bias"}},
    {{"--batch 8", "--batch 2", "--per-rank-batch 1", "--per-rank-batch 5"}},
    {{"", "--accumulate 3"}},
    {{"", "--drop-last"}},
    {{"--optimizer sgd --momentum 0.5", "--optimizer adam --lr 0.01", "--optimizer adamw"}},
    {{"", "--weight-decay 0.1"}},
    {{"", "--clip 0.1"}},
    {{"", "--schedule linear --warmup 3", "--schedule cosine --warmup 2 --lr-scale sqrt",
      "--schedule halve:2 --lr-scale linear"}},
    {{"", "--dropout 0.3"}},
    {{"", "--no-shuffle"}},
    {{"", "--metrics m.jsonl"}},
    {{"", "--recompute 2", "--recompute 3"}},
    {{"", "--dump d --dump-steps 3"}},
    {{"", "--trace t.json", "--profile"}},
    {{"", "--precision bf16", "--precision fp16", "--precision fp16 --loss-scale 64",
      "--precision bf16 --loss-scale dynamic"}},
    {{"", "--on-nonfinite skip"}},
    {{"", "--save"}}, // the run stops half-way, and goes on
};
enum { COMMON = sizeof common_factors / sizeof *common_factors };

/* Of a lesson with ranks; the first factor of each is the world. */
static const struct pairs_factor one = {{"1"}}, worlds = {{"1", "2", "3", "4"}};
static const struct pairs_factor transport = {
    {"--transport tcp", "--transport unix", "--transport unix --link 1gbit,100us"}};

/* A dropped layer's parameters get no gradient there, which buckets must be told to bear. */
static const struct pairs_factor layers = {{"", "--layer-drop 0.4"}};

static const struct pairs_factor bucket_factors[] = {
    {{"", "--find-unused", "--layer-drop 0.4 --find-unused"}},
    {{"", "--bucket-kb 0.1", "--bucket-kb 0.3"}},
    {{"", "--first-bucket-kb 0.01"}},
    {{"", "--no-overlap"}},
    {{"", "--compress bf16", "--compress bf16 --error-feedback"}},
};
enum { BUCKETS = sizeof bucket_factors / sizeof *bucket_factors };

static const struct pairs_factor stages = {
    {"", "--stage 2", "--stage 3", "--stage 3 --persist-kb 0"}};
static const struct pairs_factor offloads = {
    {"", "--offload o", "--offload o --offload-tile-kb 0.05"}};
static const struct pairs_factor any_algorithm = {{"", "--algorithm root", "--algorithm tree",
                                                   "--algorithm halving", "--algorithm direct",
                                                   "--algorithm auto"}};
static const struct pairs_factor halved_algorithm = {
    {"", "--algorithm direct", "--algorithm auto"}};

static const char own_sum[] = "--compress bf16 is an all-reduce of its own";
static const char no_layer[] = "--layer-drop: no hidden layer has as many outputs as inputs";
static const char skips[] = "--error-feedback and a dynamic --loss-scale exclude each other";
static const struct pairs_refusal refusals[] = {
    {"--compress bf16 --error-feedback", "--precision fp16", skips},
    {"--compress bf16 --error-feedback", "--precision bf16 --loss-scale dynamic", skips},
    {"--compress bf16 --error-feedback", "--on-nonfinite skip",
     "--error-feedback and --on-nonfinite skip exclude each other"},
    {"--layer-drop 0.4", "--hidden none", no_layer},
    {"--layer-drop 0.4", "--hidden 6,5,4", no_layer},
    {"--layer-drop 0.4", "--hidden 6,5,4 --freeze fc2", no_layer},
    {"--layer-drop 0.4 --find-unused", "--hidden none", no_layer},
    {"--layer-drop 0.4 --find-unused", "--hidden 6,5,4", no_layer},
    {"--layer-drop 0.4 --find-unused", "--hidden 6,5,4 --freeze fc2", no_layer},
    {"--compress bf16", "--algorithm root", own_sum},
    {"--compress bf16", "--algorithm tree", own_sum},
    {"--compress bf16", "--algorithm halving", own_sum},
    {"--compress bf16", "--algorithm auto", own_sum},
    {"--compress bf16 --error-feedback", "--algorithm root", own_sum},
    {"--compress bf16 --error-feedback", "--algorithm tree", own_sum},
    {"--compress bf16 --error-feedback", "--algorithm halving", own_sum},
    {"--compress bf16 --error-feedback", "--algorithm auto", own_sum},
    {"--compress bf16 --error-feedback", "--save",
     "--error-feedback and --save exclude each other"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

/* A lesson's factors, and the rows that hold every pair. */
static struct walk {
    struct pairs_factor factors[PAIRS_FACTORS_MOST];
    struct pairs_table table;
    size_t rows[PAIRS_ROWS_MOST][PAIRS_FACTORS_MOST], count;
} walks[WALKS];

static void add(struct walk *walk, const struct pairs_factor *factors, size_t count)
{
    memcpy(&walk->factors[walk->table.factor_count], factors, count * sizeof *factors);
    walk->table.factor_count += count;
}

static void make_walk(struct walk *walk, int lesson)
{
    walk->table = (struct pairs_table){walk->factors, 0, refusals, REFUSALS};
    add(walk, lesson == 1 ? &one : &worlds, 1);
    add(walk, common_factors, COMMON);
    if (lesson > 1)
        add(walk, &transport, 1);
    if (lesson > 1)
        add(walk, lesson < 4 ? &any_algorithm : &halved_algorithm, 1);
    add(walk, lesson > 2 ? bucket_factors : &layers, lesson > 2 ? BUCKETS : 1);
    if (lesson > 3) {
        add(walk, &stages, 1);
        add(walk, &offloads, 1);
    }
    walk->count = pairs_rows(&walk->table, 0, walk->rows);
}

/* --- one run --------------------------------------------------------------------------------- */

static void write_data(const struct folder *folder)
{
    char classes[4096] = "", numbers[4096] = "", row[96];
    for (int i = 0; i < SAMPLES; i++) {
        int a = i * 7 % 11, b = i * 5 % 13, c = i * 3 % 7;
        snprintf(row, sizeof row, "%g,%g,%g,%d\n", a / 11.0, b / 13.0, c / 7.0, (a + b) % 3);
        lesson_row(classes, sizeof classes, row);
        snprintf(row, sizeof row, "%g,%g,%g,%g\n", a / 11.0, b / 13.0, c / 7.0, (a - b + c) / 9.0);
        lesson_row(numbers, sizeof numbers, row);
    }
    lesson_write(folder, "c.csv", classes);
    lesson_write(folder, "r.csv", numbers);
}

/* Of an update that is skipped, nothing is compared: a short run may have made no other. */
static bool holds(const struct program *program)
{
    const char *out = program->out;
    return program->code == 0 &&
           (strstr(out, "all hold") || strstr(out, "1 comparison, which holds") ||
            (strstr(out, "nothing was compared") && strstr(out, " overflowed")));
}

static void must_hold(const struct folder *folder, struct lesson lesson, const char *arguments)
{
    struct program program;
    lesson_run(&program, folder, lesson, arguments);
    ck_assert_msg(holds(&program), "lesson %d, world %d: %s\nends with %d\n%s%s", lesson.number,
                  lesson.world, arguments, program.code, program.out, program.err);
    program_close(&program);
}

/* Saved after the second update, gone on with, and equal to the run that never stopped. (The rate of
 * the first two does not depend on how many are to come: they are warm-up.) */
static void must_resume(const struct folder *folder, struct lesson lesson, const char *flags)
{
    char arguments[ARGUMENTS_BYTES + 64];
    snprintf(arguments, sizeof arguments, "%s --steps 5 --save whole", flags);
    must_hold(folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 2 --save half", flags);
    must_hold(folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 5 --resume half --save half", flags);
    must_hold(folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "lesson %d, world %d: %s: resumed otherwise",
             lesson.number, lesson.world, flags);
    lesson_saves_equal(folder, "whole", "half", arguments);
}

static void run_row(int number, const struct walk *walk, const size_t *row)
{
    struct lesson lesson = {number, atoi(walk->factors[0].values[row[0]])};
    char flags[ARGUMENTS_BYTES] = "--verify 4";
    bool resumes = false;
    struct folder folder;
    for (size_t f = 1; f < walk->table.factor_count; f++) {
        const char *value = walk->factors[f].values[row[f]];
        resumes |= strcmp(value, "--save") == 0;
        if (!*value || strcmp(value, "--save") == 0)
            continue;
        lesson_row(flags, sizeof flags, " ");
        lesson_row(flags, sizeof flags, value);
    }
    folder_open(&folder);
    write_data(&folder);
    if (resumes) {
        must_resume(&folder, lesson, flags);
    } else {
        lesson_row(flags, sizeof flags, " --epochs 2");
        must_hold(&folder, lesson, flags);
    }
    folder_close(&folder);
}

/* --- the tests ------------------------------------------------------------------------------- */

START_TEST(any_two_flags_hold_together)
{
    int i = _i;
    for (int walk = 0; walk < WALKS; walk++) {
        if (i < (int)walks[walk].count) {
            run_row(1 + walk, &walks[walk], walks[walk].rows[i]);
            return;
        }
        i -= (int)walks[walk].count;
    }
}
END_TEST

START_TEST(many_more_combinations_hold)
{
    struct walk *walk = &walks[_i % WALKS];
    walk->count = pairs_rows(&walk->table, 1 + (size_t)_i / WALKS, walk->rows);
    for (size_t row = 0; row < walk->count; row++)
        run_row(1 + _i % WALKS, walk, walk->rows[row]);
}
END_TEST

START_TEST(what_makes_no_sense_together_is_refused_in_a_sentence)
{
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s %s%s", refusals[_i].one, refusals[_i].other,
             strcmp(refusals[_i].other, "--save") == 0 ? " s" : "");
    int number = strncmp(refusals[_i].one, "--stage", 7) == 0 ? 4 : 3;
    lesson_run(&program, &folder, (struct lesson){number, 3}, arguments);
    ck_assert_msg(program.code == 2 && strstr(program.err, refusals[_i].words), "%s: %d: %s",
                  arguments, program.code, program.err);
    ck_assert_str_eq(program.out, "");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* The rows themselves. */
START_TEST(every_pair_is_met_and_no_refused_one)
{
    const struct walk *walk = &walks[_i];
    const struct pairs_table *table = &walk->table;
    for (size_t f = 0; f < table->factor_count; f++)
        for (size_t g = f + 1; g < table->factor_count; g++)
            for (size_t i = 0; table->factors[f].values[i]; i++)
                for (size_t j = 0; table->factors[g].values[j]; j++) {
                    bool found = false;
                    for (size_t row = 0; row < walk->count; row++)
                        found |= walk->rows[row][f] == i && walk->rows[row][g] == j;
                    ck_assert(found != pairs_refused(table, table->factors[f].values[i],
                                                     table->factors[g].values[j]));
                }
}
END_TEST

Suite *pairwise_suite(void)
{
    Suite *suite = suite_create("pairwise");
    TCase *tcase = tcase_create("pairwise");
    const char *is_long = getenv("LONG");
    size_t count = 0;
    tcase_set_timeout(tcase, 120);
    for (int walk = 0; walk < WALKS; walk++) {
        make_walk(&walks[walk], 1 + walk);
        count += walks[walk].count;
    }
    tcase_add_loop_test(tcase, every_pair_is_met_and_no_refused_one, 0, WALKS);
    tcase_add_loop_test(tcase, what_makes_no_sense_together_is_refused_in_a_sentence, 0, REFUSALS);
    watched_add_rows(tcase, any_two_flags_hold_together, (int)count);
    if (is_long && strcmp(is_long, "1") == 0)
        tcase_add_loop_test(tcase, many_more_combinations_hold, 0, WALKS * LONG_TURNS);
    suite_add_tcase(suite, tcase);
    return suite;
}
