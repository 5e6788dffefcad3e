/* The command line: every flag is read, and whatever is not right is refused by its name. */
#include "common/flag.h"
#include "common/options.h"
#include "tests/comma_locale.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 16 };

/* Splits "--batch 3 --quiet" at its blanks (`line` is written into) and parses it. */
static int parse(struct options *options, int lesson, char *line, struct fail *fail)
{
    char *words[WORDS_MOST + 1] = {"lesson"};
    int count = 1;
    for (char *word = strtok(line, " "); word && count < WORDS_MOST; word = strtok(NULL, " "))
        words[count++] = word;
    *fail = (struct fail){0};
    return options_parse(options, lesson, count, words, fail);
}

static struct options parsed(int lesson, char *line)
{
    struct options options;
    struct fail fail;
    int error = parse(&options, lesson, line, &fail);
    ck_assert_msg(error == 0, "%s", fail.text);
    return options;
}

START_TEST(nothing_given_means_the_defaults)
{
    struct options options = parsed(4, (char[]){""});
    ck_assert_str_eq(options.data, "digits");
    ck_assert_ptr_null(options.test_data);
    ck_assert(!options.hidden_given && options.bias && options.shuffle && options.overlap);
    ck_assert_str_eq(options.init, "he");
    ck_assert_uint_eq(options.epochs, 20);
    ck_assert_uint_eq(options.steps, 0);
    ck_assert_uint_eq(options.batch, 64);
    ck_assert_uint_eq(options.accumulate, 1);
    ck_assert_int_eq(options.optimizer, OPTIMIZER_SGD);
    ck_assert_double_eq(options.lr, 0.05);
    ck_assert_double_eq(options.momentum, 0.9);
    ck_assert_double_eq(options.timeout, 30);
    ck_assert_uint_eq(options.seed, 1);
    ck_assert_uint_eq(options.verify, 2);
    ck_assert_uint_eq(options.bucket_bytes, 256 * 1024);
    ck_assert_uint_eq(options.first_bucket_bytes, 4 * 1024);
    ck_assert_int_eq(options.stage, 1);
}
END_TEST

START_TEST(each_flag_reaches_its_field)
{
    struct options options = parsed(
        1, (char[]){"--data a.csv --hidden 128,64 --task=regress --steps 7 --per-rank-batch=3 "
                    "--optimizer adamw --schedule halve:15 --seed 18446744073709551615"});
    ck_assert_str_eq(options.data, "a.csv");
    ck_assert(options.hidden_given);
    ck_assert_uint_eq(options.hidden_count, 2);
    ck_assert_uint_eq(options.hidden[0], 128);
    ck_assert_uint_eq(options.hidden[1], 64);
    ck_assert_int_eq(options.task, TASK_REGRESS);
    ck_assert_uint_eq(options.steps, 7);
    ck_assert_uint_eq(options.per_rank_batch, 3);
    ck_assert_int_eq(options.optimizer, OPTIMIZER_ADAMW);
    ck_assert_double_eq(options.lr, 0.001);
    ck_assert_int_eq(options.schedule, SCHEDULE_HALVE);
    ck_assert_uint_eq(options.halve_every, 15);
    ck_assert_uint_eq(options.seed, UINT64_MAX);

    options = parsed(4, (char[]){"--bucket-kb 0.5 --no-overlap --no-bias --no-shuffle --no-verify "
                                 "--init const:-2.5 --hidden none --lr 1e-3 --drop-last --quiet"});
    ck_assert_uint_eq(options.bucket_bytes, 512);
    ck_assert_uint_eq(options.first_bucket_bytes, 512);
    ck_assert(!options.overlap && !options.bias && !options.shuffle);
    ck_assert_uint_eq(options.verify, 0);
    ck_assert_float_eq(options.init_value, -2.5f);
    ck_assert(options.hidden_given);
    ck_assert_uint_eq(options.hidden_count, 0);
    ck_assert_double_eq(options.lr, 1e-3);
    ck_assert(options.drop_last && options.quiet);
}
END_TEST

START_TEST(the_last_of_a_repeated_flag_counts)
{
    struct options options =
        parsed(1, (char[]){"--batch 8 --schedule halve:3 --batch=16 --schedule cosine"});
    ck_assert_uint_eq(options.batch, 16);
    ck_assert_int_eq(options.schedule, SCHEDULE_COSINE);
    ck_assert_uint_eq(options.halve_every, 0);
}
END_TEST

START_TEST(algorithm_and_transport_are_told_by_name)
{
    struct options options = parsed(2, (char[]){"--algorithm direct --transport unix"});
    ck_assert_int_eq(options.algorithm, 4);
    ck_assert_int_eq(options.transport, 1);
    ck_assert(!options.bench_all);
    parsed(4, (char[]){"--algorithm ring --transport tcp --compress none --stage 1"});
    options = parsed(2, (char[]){"--bench --tuning t --bench-most 64"});
    ck_assert(options.bench_all);
    ck_assert_str_eq(options.tuning, "t");
    ck_assert_uint_eq(options.bench_most_bytes, 64);
    parsed(3, (char[]){"--tuning t --algorithm auto"});
    parsed(2, (char[]){"--bench --tuning t --algorithm auto"});
}
END_TEST

START_TEST(fp16_has_a_loss_scale_and_others_none_unless_it_is_given)
{
    ck_assert_double_eq(parsed(1, (char[]){"--precision fp16"}).loss_scale, 0);
    ck_assert_double_eq(parsed(1, (char[]){"--precision bf16"}).loss_scale, 1);
    ck_assert_double_eq(parsed(1, (char[]){""}).loss_scale, 1);
    ck_assert_double_eq(parsed(1, (char[]){"--precision bf16 --loss-scale 64"}).loss_scale, 64);
    ck_assert_double_eq(parsed(1, (char[]){"--precision fp16 --loss-scale none"}).loss_scale, 1);
    parsed(3, (char[]){"--compress bf16 --error-feedback --precision fp16 --loss-scale 1024"});
}
END_TEST

static const struct {
    int lesson;
    const char *line, *said; // `said` is part of the refusal
} refused[] = {
    {1, "--epoch 3", "did you mean --epochs"},
    {1, "--bath=3", "did you mean --batch"},
    {1, "--xyzzy-and-more", "--xyzzy-and-more is not a flag"},
    {1, "--", "is not a flag"},
    {1, "-n 4", "'-n' is not expected"},
    {1, "digits.csv", "'digits.csv' is not expected"},
    {1, "--batch", "--batch: expected a whole number from 1 to 1000000000, found no value"},
    {1, "--metrics --quiet", "--metrics: expected FILE, found no value"},
    {1, "--quiet=yes", "--quiet takes no value"},
    {1, "--batch 0", "found '0'"},
    {1, "--batch 1000000001", "found '1000000001'"},
    {1, "--batch -1", "found '-1'"},
    {1, "--batch +1", "found '+1'"},
    {1, "--batch 1e3", "found '1e3'"},
    {1, "--batch 0x10", "found '0x10'"},
    {1, "--batch=", "found ''"},
    {1, "--batch 18446744073709551617", "--batch: expected a whole number"},
    {1, "--seed 18446744073709551616", "--seed: expected a whole number of at most 64 bits"},
    {1, "--lr nan", "--lr: expected a number"},
    {1, "--lr inf", "found 'inf'"},
    {1, "--lr 1e999", "found '1e999'"},
    {1, "--lr 0x1p3", "found '0x1p3'"},
    {1, "--lr 1e3x", "found '1e3x'"},
    {1, "--lr 1e", "found '1e'"},
    {1, "--lr .", "found '.'"},
    {1, "--lr 0,5", "found '0,5'"},
    {1, "--lr=", "found ''"},
    {1, "--lr -0.1", "--lr: expected a number from 0 to 1000000"},
    {1, "--momentum 1.5", "--momentum: expected a number from 0 to 1,"},
    {1, "--hidden 64,", "--hidden: expected none, or 1 to 16 widths"},
    {1, "--hidden 64,0", "--hidden: expected"},
    {1, "--hidden ,", "--hidden: expected"},
    {1, "--hidden 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "--hidden: expected"},
    {1, "--hidden 00000000000000000000000000000000000000001", "--hidden: expected"},
    {1, "--optimizer SGD", "--optimizer: expected sgd | adam | adamw"},
    {1, "--optimizer adam|adamw", "--optimizer: expected"},
    {1, "--schedule halve", "--schedule: expected"},
    {1, "--schedule halve:0", "--schedule: expected"},
    {1, "--init const:", "--init: expected"},
    {1, "--init const:1e40", "--init: expected"},
    {1, "--init model.pt", "--init: expected"},
    {1, "--dropout 1", "--dropout: expected a number from 0 to 0.99"},
    {1, "--dropout -0.1", "--dropout: expected"},
    {1, "--data=", "--data: expected digits"},
    {1, "--epochs 3 --steps 4", "--epochs and --steps exclude each other"},
    {1, "--metrics a.json --trace a.json", "--metrics and --trace both write 'a.json'"},
    {1, "--per-rank-batch 3 --batch 4", "--batch and --per-rank-batch exclude"},
    {1, "--no-verify --verify 3", "--verify and --no-verify exclude"},
    {2, "--bench --save d", "--bench and --save exclude"},
    {2, "--bench --explain", "--explain and --bench exclude"},
    {2, "--explain --save d --save-every 2", "--explain and --save exclude"},
    {2, "--explain --resume d", "--explain and --resume exclude"},
    {2, "--explain --dump d", "--explain and --dump exclude"},
    {2, "--explain --metrics m", "--explain and --metrics exclude"},
    {2, "--bench-most 64", "--bench-most means nothing without --bench"},
    {2, "--bench --bench-most 3", "--bench-most: expected a whole number from 4"},
    {3, "--bench-most 64", "--bench-most exists up to lesson 2; this is lesson 3"},
    {1, "--tuning t", "--tuning exists from lesson 2 on; this is lesson 1"},
    {2, "--tuning t", "--tuning means nothing without --algorithm auto"},
    {4, "--tuning t --algorithm ring", "--tuning means nothing without --algorithm auto"},
    {2, "--tuning t --bench --algorithm ring", "leave out --algorithm"},
    {1, "--dump-steps 3", "--dump-steps means nothing without --dump"},
    {1, "--save-every 3", "--save-every means nothing without --save"},
    {1, "--keep 3", "--keep means nothing without --save"},
    {1, "--save s --keep 0", "--keep: expected a whole number from 1"},
    {1, "--optimizer adam --momentum 0.9", "--momentum is of --optimizer sgd"},
    {1, "--timeout 3", "--timeout exists from lesson 2 on; this is lesson 1"},
    {2, "--bucket-kb 3", "--bucket-kb exists from lesson 3 on; this is lesson 2"},
    {3, "--stage 1", "--stage exists from lesson 4 on; this is lesson 3"},
    {3, "--bench", "--bench exists up to lesson 2; this is lesson 3"},
    {3, "--bucket-kb 0.001", "--bucket-kb: expected a number from 0.00390625"},
    {1, "--bench --trace t.json", "--bench and --trace exclude each other"},
    {1, "--precision fp16 --bench", "--bench and --precision exclude each other"},
    {2, "--explain --profile", "--explain and --profile exclude each other"},
    {1, "--explain", "--explain exists from lesson 2 on; this is lesson 1"},
    {2, "--algorithm torus",
     "--algorithm: expected ring | root | tree | halving | direct | auto, found 'torus'"},
    {2, "--transport=udp", "--transport: expected tcp | unix | mpi, found 'udp'"},
    {3, "--compress fp8", "--compress: expected none | bf16, found 'fp8'"},
    {3, "--error-feedback", "--error-feedback means nothing without --compress bf16"},
    {4, "--error-feedback --compress none", "means nothing without --compress bf16"},
    {3, "--compress bf16 --algorithm ring", "leave out --algorithm, or give direct"},
    {4, "--compress bf16 --algorithm auto", "leave out --algorithm, or give direct"},
    {2, "--compress bf16", "--compress exists from lesson 3 on"},
    {1, "--precision fp8", "--precision: expected fp32 | bf16 | fp16, found 'fp8'"},
    {1, "--loss-scale 2", "--loss-scale means nothing without --precision bf16 or fp16"},
    {1, "--precision fp16 --loss-scale 3", "a power of two from 2 to 16777216, found '3'"},
    {1, "--precision fp16 --loss-scale 1", "dynamic, none, or a power of two"},
    {3, "--compress bf16 --error-feedback --precision fp16", "exclude each other: an update"},
    {3, "--compress bf16 --error-feedback --save s", "--error-feedback and --save exclude"},
    {4, "--algorithm tree",
     "lesson 4 needs a reduce-scatter, which only these have: ring | direct | auto"},
    {4, "--stage 4", "--stage: expected 1 | 2 | 3, found '4'"},
    {3, "--persist-kb 4", "--persist-kb exists from lesson 4 on; this is lesson 3"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(what_is_not_right_is_refused_by_name)
{
    char line[128];
    struct options options;
    struct fail fail;
    snprintf(line, sizeof line, "%s", refused[_i].line);
    ck_assert_int_eq(parse(&options, refused[_i].lesson, line, &fail), -EINVAL);
    ck_assert_int_eq(fail.code, -EINVAL);
    ck_assert_msg(strstr(fail.text, refused[_i].said) != NULL, "'%s': %s", refused[_i].line,
                  fail.text);
}
END_TEST

START_TEST(blanks_around_a_number_are_refused)
{
    char *words[] = {"lesson", "--lr", " 0.5", NULL};
    struct options options;
    struct fail fail = {0};
    ck_assert_int_eq(options_parse(&options, 1, 3, words, &fail), -EINVAL);
    words[2] = "0.5 ";
    ck_assert_int_eq(options_parse(&options, 1, 3, words, &fail), -EINVAL);
    words[1] = "--batch";
    words[2] = " 5";
    ck_assert_int_eq(options_parse(&options, 1, 3, words, &fail), -EINVAL);
}
END_TEST

START_TEST(a_decimal_comma_locale_changes_nothing)
{
    comma_locale_enter();
    struct options options = parsed(1, (char[]){"--lr 0.25"});
    comma_locale_leave();
    ck_assert_double_eq(options.lr, 0.25);
}
END_TEST

START_TEST(help_and_version_stop_the_reading)
{
    ck_assert(parsed(1, (char[]){"--help --nonsense"}).help);
    ck_assert(parsed(1, (char[]){"--version 3"}).version);
}
END_TEST

static char *help_of(int lesson)
{
    struct options options = {.lesson = lesson};
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    options_help(&options, "lesson", out);
    fclose(out);
    return text;
}

static bool mentions(const char *help, const char *name)
{
    char row[64];
    snprintf(row, sizeof row, "\n  --%s ", name);
    return strstr(help, row) != NULL;
}

START_TEST(help_lists_a_lessons_own_flags_and_no_other)
{
    char *help = help_of(_i);
    for (const struct flag *flag = flags; flag->help; flag++)
        if (flag->kind != FLAG_TITLE)
            ck_assert_msg(mentions(help, flag->name) == flag_in_lesson(flag, _i), "--%s",
                          flag->name);
    free(help);
}
END_TEST

START_TEST(help_fits_a_hundred_columns)
{
    char *help = help_of(_i);
    for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_msg(strlen(line) <= 100, "%s", line);
        ck_assert_msg(line[strlen(line) - 1] != ' ', "'%s'", line);
    }
    free(help);
}
END_TEST

START_TEST(help_tells_the_defaults)
{
    char *help = help_of(3);
    ck_assert_ptr_nonnull(strstr(help, "(default: 0.05)"));
    ck_assert_ptr_nonnull(strstr(help, "(default: 20)"));
    ck_assert_ptr_nonnull(strstr(help, "(default: 256)"));
    free(help);
}
END_TEST

/* A text `flag` accepts and that differs from its default. */
static const char *another_value(const struct flag *flag)
{
    switch (flag->kind) {
    case FLAG_WHOLE:
        return "5";
    case FLAG_REAL:
    case FLAG_KB:
        return "0.125";
    case FLAG_CHOICE:
        return strrchr(flag->accepts, ' ') ? strrchr(flag->accepts, ' ') + 1 : flag->accepts;
    case FLAG_SCHEDULE:
        return "halve:5";
    case FLAG_INIT:
        return "const:1";
    case FLAG_HIDDEN:
        return "7";
    case FLAG_SCALE:
        return "4";
    case FLAG_INJECT:
        return "same-shard";
    default:
        return flag->accepts ? "elsewhere" : NULL;
    }
}

START_TEST(ranks_that_must_agree_have_one_fingerprint)
{
    struct options plain = parsed(4, (char[]){""});
    for (const struct flag *flag = flags; flag->help; flag++) {
        struct options options = plain;
        if (flag->kind == FLAG_TITLE)
            continue;
        ck_assert_msg(flag_store(flag, &options, another_value(flag)), "--%s", flag->name);
        bool differs = options_fingerprint(&options) != options_fingerprint(&plain);
        ck_assert_msg(differs == (flag->scope == FLAG_SHARED), "--%s", flag->name);
    }
}
END_TEST

START_TEST(fingerprints_read_texts_not_their_addresses)
{
    char here[] = "a.csv", there[] = "a.csv";
    struct options left = parsed(1, (char[]){""}), right = left;
    left.data = here;
    right.data = there;
    ck_assert_uint_eq(options_fingerprint(&left), options_fingerprint(&right));
    there[0] = 'b';
    ck_assert_uint_ne(options_fingerprint(&left), options_fingerprint(&right));
    right = left;
    left.save = "here";
    right.save = "there"; // where a rank writes is its own affair, that it writes is not
    ck_assert_uint_eq(options_fingerprint(&left), options_fingerprint(&right));
}
END_TEST

Suite *options_suite(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_test(tcase, nothing_given_means_the_defaults);
    tcase_add_test(tcase, each_flag_reaches_its_field);
    tcase_add_test(tcase, the_last_of_a_repeated_flag_counts);
    tcase_add_test(tcase, fp16_has_a_loss_scale_and_others_none_unless_it_is_given);
    tcase_add_test(tcase, algorithm_and_transport_are_told_by_name);
    tcase_add_loop_test(tcase, what_is_not_right_is_refused_by_name, 0, REFUSED);
    tcase_add_test(tcase, blanks_around_a_number_are_refused);
    tcase_add_test(tcase, a_decimal_comma_locale_changes_nothing);
    tcase_add_test(tcase, help_and_version_stop_the_reading);
    tcase_add_loop_test(tcase, help_lists_a_lessons_own_flags_and_no_other, 1, 5);
    tcase_add_loop_test(tcase, help_fits_a_hundred_columns, 1, 5);
    tcase_add_test(tcase, help_tells_the_defaults);
    tcase_add_test(tcase, ranks_that_must_agree_have_one_fingerprint);
    tcase_add_test(tcase, fingerprints_read_texts_not_their_addresses);
    suite_add_tcase(suite, tcase);
    return suite;
}
