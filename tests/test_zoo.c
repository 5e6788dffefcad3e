/* The table of mistakes is whole, and what makes no sense with --inject is refused in a sentence. */
#include "common/flag.h"
#include "common/zoo.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 32, LINE_BYTES = 512 };

static int parse(struct options *options, int lesson, const char *line, struct fail *fail)
{
    static char copy[LINE_BYTES]; // options point into it
    char *words[WORDS_MOST] = {"lesson"};
    int count = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word && count < WORDS_MOST - 1; word = strtok(NULL, " "))
        words[count++] = word;
    *fail = (struct fail){0};
    return options_parse(options, lesson, count, words, fail);
}

static bool starts_small_and_ends_plain(const char *text)
{
    return text && strlen(text) > 10 && text[strlen(text) - 1] != '.' && !strstr(text, "  ");
}

START_TEST(a_row_says_all_there_is_to_say)
{
    const struct zoo_row *row = &zoo_table[_i];
    ck_assert_ptr_nonnull(row->name);
    ck_assert_int_eq(zoo_find(row->name, strlen(row->name)), _i);
    ck_assert_uint_ne(row->lessons, 0);
    ck_assert_uint_eq(row->lessons & ~(1U << 2 | 1U << 3 | 1U << 4), 0);
    ck_assert_uint_eq(row->caught & ~row->lessons, 0);
    ck_assert(row->most_stage == 1 || row->most_stage == 3);
    ck_assert(starts_small_and_ends_plain(row->wrong));
    ck_assert(starts_small_and_ends_plain(row->symptom));
    ck_assert(starts_small_and_ends_plain(row->cure));
    ck_assert_ptr_nonnull(strstr(row->elsewhere, "PyTorch"));
}
END_TEST

/* The flag a text begins with, for a word of `excludes` or all of `needs`. */
static const struct flag *flag_named(const char *text)
{
    return flag_find(text, strcspn(text, " "));
}

START_TEST(a_row_names_flags_there_are)
{
    const struct zoo_row *row = &zoo_table[_i];
    ck_assert(!row->needs || flag_named(row->needs + strlen("--")));
    for (const char *next = row->excludes; next && *next;) {
        ck_assert_msg(flag_named(next) != NULL, "%s: %s", row->name, next);
        next += strcspn(next, " ");
        next += strspn(next, " ");
    }
}
END_TEST

/* A command line on which nothing but the flag itself is amiss: "" or what the member needs. */
static void line_of(const struct zoo_row *row, const char *rest, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, "--inject %s %s %s", row->name, row->needs ? row->needs : "", rest);
}

START_TEST(a_member_is_planted_in_its_lessons_and_refused_in_others)
{
    const struct zoo_row *row = &zoo_table[_i];
    char line[LINE_BYTES];
    struct options options;
    struct fail fail;
    line_of(row, "", line);
    for (int lesson = 1; lesson <= 4; lesson++) {
        bool has = row->lessons >> lesson & 1;
        ck_assert_msg(parse(&options, lesson, line, &fail) == (has ? 0 : -EINVAL), "%s: %s", line,
                      fail.text);
        ck_assert(!has || zoo_has(&options, (enum zoo_member)_i));
        ck_assert(has || strstr(fail.text, lesson == 1 ? "--inject" : row->name));
    }
}
END_TEST

START_TEST(a_member_is_refused_in_stages_that_have_no_room_for_it)
{
    const struct zoo_row *row = &zoo_table[_i];
    char line[LINE_BYTES], rest[24];
    struct options options;
    struct fail fail;
    for (int stage = 1; stage <= 3 && (row->lessons >> 4 & 1); stage++) {
        snprintf(rest, sizeof rest, "--stage %d", stage);
        line_of(row, rest, line);
        bool fits = stage <= row->most_stage;
        ck_assert_int_eq(parse(&options, 4, line, &fail), fits ? 0 : -EINVAL);
        ck_assert(fits || strstr(fail.text, "--stage 1"));
    }
}
END_TEST

START_TEST(a_member_is_refused_where_its_circumstances_are_missing)
{
    const struct zoo_row *row = &zoo_table[_i];
    char line[LINE_BYTES];
    struct options options;
    struct fail fail;
    snprintf(line, sizeof line, "--inject %s", row->name);
    if (!row->needs)
        return;
    ck_assert_int_eq(parse(&options, 4, line, &fail), -EINVAL);
    ck_assert_ptr_nonnull(strstr(fail.text, row->name));
    ck_assert_ptr_nonnull(strstr(fail.text, row->needs));
}
END_TEST

START_TEST(a_member_is_refused_with_what_it_excludes)
{
    static const char *const values[][2] = {
        {"per-rank-batch", "4"}, {"lr-scale", "sqrt"}, {"warmup", "5"}, {"no-shuffle", ""},
        {"init", "const:1"},     {"resume", "a"},      {"no-bias", ""}};
    const struct zoo_row *row = &zoo_table[_i];
    char line[LINE_BYTES], rest[64];
    struct options options;
    struct fail fail;
    for (size_t i = 0; row->excludes && i < sizeof values / sizeof *values; i++) {
        if (!strstr(row->excludes, values[i][0]))
            continue;
        snprintf(rest, sizeof rest, "--%s %s", values[i][0], values[i][1]);
        line_of(row, rest, line);
        ck_assert_int_eq(parse(&options, 4, line, &fail), -EINVAL);
        ck_assert_ptr_nonnull(strstr(fail.text, row->name));
        ck_assert_ptr_nonnull(strstr(fail.text, "exclude each other"));
    }
}
END_TEST

START_TEST(a_member_of_many_ranks_is_refused_with_one)
{
    const struct zoo_row *row = &zoo_table[_i];
    struct options options = {.inject = UINT64_C(1) << _i};
    struct fail fail = {0};
    ck_assert_int_eq(zoo_check_world(&options, 2, &fail), 0);
    ck_assert_int_eq(zoo_check_world(&options, 1, &fail), row->needs_ranks ? -EINVAL : 0);
    ck_assert(!row->needs_ranks || strstr(fail.text, row->name));
}
END_TEST

static const struct {
    int lesson;
    const char *line, *said;
} refused[] = {
    {1, "--inject same-shard", "exists from lesson 2 on"},
    {2, "--inject", "found no value"},
    {2, "--inject=", "found ''"},
    {2, "--inject nonsense", "found 'nonsense'"},
    {2, "--inject same-shard,", "found 'same-shard,'"},
    {2, "--inject same-shard,same-shar", "found 'same-shard,same-shar'"},
    {2, "--inject same-shard,help", "found 'same-shard,help'"},
    {2, "--inject sum-not-mean,mean-twice", "mean-twice contradict each other"},
    {2, "--inject mean-twice,sum-not-mean", "mean-twice contradict each other"},
    {2, "--inject same-shard,shuffle-per-rank", "contradict each other"},
    {2, "--inject no-lr-scale,batch-not-divided", "contradict each other"},
    {2, "--inject no-lr-scale,lr-scale-no-warmup", "contradict each other"},
    {2, "--inject lr-scale-no-warmup,batch-not-divided", "contradict each other"},
    {2, "--accumulate 3 --inject sum-not-mean,last-batch-unweighted", "contradict each other"},
    {4, "--accumulate 3 --inject sync-last-microbatch-only,sync-first-microbatch-only",
     "contradict each other"},
    {4, "--accumulate 3 --clip 1 --inject clip-before-reduce,sync-last-microbatch-only",
     "contradict each other"},
    {4, "--accumulate 3 --clip 1 --inject clip-before-reduce,sync-first-microbatch-only",
     "contradict each other"},
    {3, "--accumulate 3 --inject skip-one-rank,sync-last-microbatch-only", "contradict each other"},
    {3, "--accumulate 3 --inject skip-one-rank,sync-first-microbatch-only",
     "contradict each other"},
    {4, "--clip 1 --inject clip-before-reduce,clip-per-shard", "contradict each other"},
    {2, "--momentum 0 --resume a --inject resume-without-momentum", "keeps no state"},
    {2, "--inject same-shard --bench", "--inject and --bench exclude each other"},
    {3, "--inject same-shard --explain", "--inject and --explain exclude each other"},
    {4, "--inject same-shard --plan", "--inject and --plan exclude each other"},
};

START_TEST(what_makes_no_sense_is_refused)
{
    struct options options;
    struct fail fail;
    ck_assert_int_eq(parse(&options, refused[_i].lesson, refused[_i].line, &fail), -EINVAL);
    ck_assert_msg(strstr(fail.text, refused[_i].said) != NULL, "%s: %s", refused[_i].line,
                  fail.text);
}
END_TEST

START_TEST(several_are_planted_at_once)
{
    struct options options;
    struct fail fail;
    ck_assert_int_eq(parse(&options, 3, "--inject no-set-epoch,same-shard,no-set-epoch", &fail), 0);
    ck_assert_uint_eq(options.inject, 1U << ZOO_NO_SET_EPOCH | 1U << ZOO_SAME_SHARD);
}
END_TEST

START_TEST(nothing_is_verified_unless_asked)
{
    struct options options;
    struct fail fail;
    ck_assert_int_eq(parse(&options, 3, "--inject same-shard", &fail), 0);
    ck_assert_uint_eq(options.verify, 0);
    ck_assert_int_eq(parse(&options, 3, "--inject same-shard --verify 3", &fail), 0);
    ck_assert_uint_eq(options.verify, 3);
    ck_assert_int_eq(parse(&options, 3, "", &fail), 0);
    ck_assert_uint_eq(options.verify, 2);
}
END_TEST

START_TEST(a_batch_per_rank_is_asked_for_as_a_user_would)
{
    struct options options;
    struct fail fail;
    ck_assert_int_eq(parse(&options, 2, "--batch 32 --inject no-lr-scale", &fail), 0);
    ck_assert_uint_eq(options.per_rank_batch, 32);
    ck_assert_int_eq(options.lr_scale, LR_SCALE_NONE);
    ck_assert_int_eq(parse(&options, 2, "--inject lr-scale-no-warmup", &fail), 0);
    ck_assert_uint_eq(options.per_rank_batch, 64);
    ck_assert_int_eq(options.lr_scale, LR_SCALE_LINEAR);
    ck_assert_uint_eq(options.warmup, 0);
    ck_assert_double_eq(options.lr, 0.5);
    ck_assert_int_eq(parse(&options, 2, "--lr 0.1 --inject lr-scale-no-warmup", &fail), 0);
    ck_assert_double_eq(options.lr, 0.1);
    ck_assert_int_eq(parse(&options, 2, "--batch 32 --inject batch-not-divided", &fail), 0);
    ck_assert_uint_eq(options.per_rank_batch, 0);
    ck_assert_uint_eq(options.batch, 32);
}
END_TEST

static char *printed(int lesson, const char *line)
{
    char *text;
    size_t size;
    struct options options;
    struct fail fail;
    ck_assert_int_eq(parse(&options, lesson, line, &fail), 0);
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    options_help(&options, "lesson", out);
    fclose(out);
    return text;
}

START_TEST(help_names_the_members_and_inject_help_tells_about_them)
{
    char *names = printed(_i, "--help"), *all = printed(_i, "--inject help");
    for (int member = 0; member < ZOO_MEMBERS; member++) {
        const struct zoo_row *row = &zoo_table[member];
        char section[64];
        snprintf(section, sizeof section, "docs/odd-curves.md#%s\n", row->name);
        bool has = row->lessons >> _i & 1;
        ck_assert_msg((strstr(names, row->name) != NULL) == has, "%s", row->name);
        ck_assert_msg((strstr(all, section) != NULL) == has, "%s", row->name);
    }
    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_msg(strlen(line) <= 100, "%s", line);
    free(names);
    free(all);
}
END_TEST

Suite *zoo_suite(void)
{
    Suite *suite = suite_create("zoo");
    TCase *tcase = tcase_create("zoo");
    tcase_add_loop_test(tcase, a_row_says_all_there_is_to_say, 0, ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_row_names_flags_there_are, 0, ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_member_is_planted_in_its_lessons_and_refused_in_others, 0,
                        ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_member_is_refused_in_stages_that_have_no_room_for_it, 0,
                        ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_member_is_refused_where_its_circumstances_are_missing, 0,
                        ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_member_is_refused_with_what_it_excludes, 0, ZOO_MEMBERS);
    tcase_add_loop_test(tcase, a_member_of_many_ranks_is_refused_with_one, 0, ZOO_MEMBERS);
    tcase_add_loop_test(tcase, what_makes_no_sense_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tcase, several_are_planted_at_once);
    tcase_add_test(tcase, nothing_is_verified_unless_asked);
    tcase_add_test(tcase, a_batch_per_rank_is_asked_for_as_a_user_would);
    tcase_add_loop_test(tcase, help_names_the_members_and_inject_help_tells_about_them, 2, 5);
    suite_add_tcase(suite, tcase);
    return suite;
}
