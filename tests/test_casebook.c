/* A record that is not whole, not of this run or not one at all is refused by name: file, line, what was expected and what was
 * found; and one of a run that did not end is read. */
#include "common/doctor/casebook.h"
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192 };

/* Two ranks, one of which makes each other step by itself; %d is the rank. */
static const char start[] =
    "{\"event\":\"start\",\"format\":\"sgd-to-zero-record\",\"version\":1,\"lesson\":2,\"rank\":%d,"
    "\"world\":2,"
    "\"pid\":1,\"first\":0,\"updates\":3,\"steps_per_epoch\":2,\"train_samples\":8,\"test_"
    "samples\":2,"
    "\"parameters\":3,\"options\":{\"batch\":4,\"accumulate\":1,\"lr\":0.1,\"seed\":\"7\","
    "\"hidden\":\"none\","
    "\"optimizer\":\"adam\",\"no-shuffle\":true,\"drop-last\":false,\"tie\":null,\"given\":["
    "\"batch\"]},"
    "\"tensors\":[{\"name\":\"fc1.weight\",\"begin\":0,\"count\":2,\"decays\":true,\"frozen\":"
    "false},"
    "{\"name\":\"fc1.bias\",\"begin\":2,\"count\":1,\"decays\":false,\"frozen\":false}],"
    "\"owned\":3,\"param_hash\":\"00000000000000ff\",\"param\":[[1,2],[3,4]],\"state_norm\":null,"
    "\"streams\":{\"weights\":\"1\",\"shuffle\":\"2\",\"dropout\":\"3\"}}\n";
static const char plain[] = "{\"event\":\"step\",\"step\":%d,\"epoch\":0,\"lr\":0.1,\"loss\":2.5,"
                            "\"loss_local\":null,\"samples\":4,"
                            "\"samples_local\":2,\"seen\":\"abc\",\"weight_least\":0.25,\"weight_"
                            "most\":0.25,\"micro_batches\":1,"
                            "\"handed_over\":1,\"updated\":true,\"nonfinite\":null,\"clip\":1,"
                            "\"grad_norm\":null,\"seconds\":0.1%s}\n";
static const char look[] = ",\"raw\":[[1,2],[3,4]],\"reduced\":null,\"param\":[[1,2],[3,4]],"
                           "\"param_hash\":null,\"dropout_mask\":null,\"decayed\":0";
static const char epoch[] =
    "{\"event\":\"epoch\",\"epoch\":0,\"step\":2,\"order\":\"1\",\"seen\":\"2\",\"seen_count\":4,"
    "\"train_loss\":2.5,\"test_loss\":null,\"test_accuracy\":null,\"evaluated\":1}\n";
static const char end[] = "{\"event\":\"end\",\"exit_code\":0,\"steps\":3}\n";

static void add(char *text, const char *line)
{
    ck_assert_uint_lt(strlen(text) + strlen(line), TEXT_BYTES);
    memcpy(text + strlen(text), line, strlen(line) + 1);
}

static void make_page(char text[TEXT_BYTES], int rank)
{
    char line[TEXT_BYTES];
    *text = '\0';
    snprintf(line, sizeof line, start, rank);
    add(text, line);
    for (int step = 0; step < 3; step++) {
        snprintf(line, sizeof line, plain, step, step == 0 ? look : "");
        add(text, line);
        if (step == 1)
            add(text, epoch);
    }
    add(text, end);
}

/* The first `old` of it becomes `new`. */
static void change(char text[TEXT_BYTES], const char *old, const char *new)
{
    char rest[TEXT_BYTES];
    char *at = strstr(text, old);
    ck_assert_msg(at != NULL, "%s is not in it", old);
    snprintf(rest, sizeof rest, "%s", at + strlen(old));
    *at = '\0';
    add(text, new);
    add(text, rest);
}

static void write_page(const struct folder *folder, int rank, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "rank-%d.jsonl", rank);
    lesson_write(folder, name, text);
}

static void write_record(const struct folder *folder)
{
    char text[TEXT_BYTES];
    for (int rank = 0; rank < 2; rank++) {
        make_page(text, rank);
        write_page(folder, rank, text);
    }
}

static void expect_refused(const struct folder *folder, const char *words)
{
    struct casebook book;
    struct fail fail = {0};
    int error = casebook_open(&book, folder->path, &fail);
    ck_assert_msg(error < 0, "it was read, but: %s", words);
    ck_assert_msg(strstr(fail.text, words) && strstr(fail.text, folder->path), "%s\nexpected: %s",
                  fail.text, words);
    casebook_close(&book);
}

START_TEST(a_whole_record_is_read)
{
    struct folder folder;
    struct casebook book;
    struct fail fail = {0};
    folder_open(&folder);
    write_record(&folder);
    ck_assert_msg(casebook_open(&book, folder.path, &fail) == 0, "%s", fail.text);
    ck_assert_uint_eq(book.world, 2);
    ck_assert_uint_eq(casebook_steps(&book), 3);
    ck_assert_uint_eq(book.options.seed, 7);
    ck_assert_int_eq(book.options.optimizer, OPTIMIZER_ADAM);
    ck_assert(!book.options.shuffle && !book.options.drop_last);
    const struct case_step *step = &book.ranks[1].steps[0];
    ck_assert(step->seen == 0xabc && step->updated && !step->nonfinite && isnan(step->loss_local));
    ck_assert(step->look && step->look->raw[1].squares == 4 && isnan(step->look->reduced[0].sum));
    ck_assert_ptr_null(book.ranks[1].steps[1].look);
    ck_assert(book.ranks[0].starts[0].param_hash.bits == 255 && book.ranks[0].ended);
    casebook_close(&book);
    folder_close(&folder);
}
END_TEST

static const struct {
    int rank; // whose file is changed
    const char *old, *new, *words;
} changes[] = {
    {0, "sgd-to-zero-record", "somebody-elses",
     "found 'somebody-elses': not a record of this course"},
    {0, "\"version\":1", "\"version\":2", "line 1: this is version 2 of the record"},
    {1, "\"version\":1", "\"version\":0", "rank-1.jsonl, line 1: this is version 0 of the record"},
    {1, "\"rank\":1", "\"rank\":0", "'rank' is 0 where this run has 1: files of two runs"},
    {1, "\"world\":2", "\"world\":3", "'world' is 3 where this run has 2"},
    {1, "\"lesson\":2", "\"lesson\":3", "'lesson' is 3 where this run has 2"},
    {1, "\"lr\":0.1", "\"lr\":0.2", "--lr is not what rank 0 has"},
    {0, "\"world\":2", "\"world\":2000", "'world' must be 1 to 1024"},
    {0, "\"lesson\":2", "\"lesson\":5", "'lesson' must be 1 to 4"},
    {0, "\"train_samples\":8", "\"train_samples\":0", "'train_samples' must be 1 to"},
    {0, "\"train_samples\":8", "\"train_samples\":9e9", "'train_samples' must be a whole number"},
    {0, "\"parameters\":3", "\"parameters\":4", "'parameters' must be as many as the tensors have"},
    {0, "\"begin\":2", "\"begin\":1", "'tensors' must be one behind the other"},
    {0, "fc1.bias", "fc1\\u001b[2J", "'name' must be a short name of letters"},
    {0, "\"optimizer\":\"adam\"", "\"optimizer\":\"adamant\"",
     "'options' must be values that the flags accept"},
    {0, "\"batch\":4", "\"batch\":0", "'options' must be"},
    {0, "\"batch\":4", "\"batch\":true", "'options' must be values that the flags accept"},
    {0, "\"lr\":0.1", "\"lr\":[1]", "'options' must be values that the flags accept"},
    {0, "\"tie\":null", "\"tie\":{}", "'options' must be values that the flags accept"},
    {0, "\"no-shuffle\":true", "\"no-shuffle\":1", "'options' must be values that the flags"},
    {0, "\"decays\":false,\"frozen\":false}]", "\"decays\":3,\"frozen\":false}]",
     "'decays' must be true or false"},
    {0, "[[1,2],[3,4]]", "[[1,2]]", "'param' must be a pair of numbers for each tensor"},
    {1, "\"seen\":\"abc\"", "\"seen\":\"xyz\"",
     "line 2: 'seen' must be up to 16 hexadecimal digits, found \"xyz\""},
    {1, "\"step\":1,", "\"step\":2,", "line 3: expected step 1, found step 2: lines are missing"},
    {1, "\"samples_local\":2", "\"samples_local\":5",
     "line 2: step 0 says 4 samples, 5 of them this rank's"},
    {1, "\"samples\":4", "\"samples\":-4", "'samples' must be a whole number, found -4"},
    {1, "\"samples\":4", "\"samples\":9", "of 8 there are to train on"},
    {0, "\"updated\":true", "\"updated\":1", "'updated' must be true or false, found 1"},
    {0, "\"loss\":2.5", "\"loss\":\"2.5\"", "'loss' must be a number or null"},
    {0, "\"raw\":[[1,2],[3,4]]", "\"raw\":[[1,2],[3,-4]]", "'raw' must be a pair"},
    {0, "\"event\":\"epoch\"", "\"event\":\"era\"",
     "line 4: 'event' must be start, step, epoch or end"},
    {0, "\"event\":\"start\"", "\"event\":\"step\"", "line 1: expected the start of a record"},
    {0, "{\"event\":\"end\"", "[\"event\",\"end\"", "line 6: no JSON object"},
    {0, "\"steps\":3}\n", "\"steps\":3}\n{\"event\":\"epoch\"}\n",
     "line 7: there are lines behind the end"},
    {0, "\"steps\":3}\n", "\"steps\":3}", "is cut off in line 6: the last line has no end"},
    {1, "\"epoch\":0,\"lr\"", "\"epoch\":0,\"epoch\":0,\"lr\"", "duplicate"},
};
enum { CHANGES = sizeof changes / sizeof *changes };

START_TEST(a_record_that_was_changed_is_refused_by_file_line_and_field)
{
    struct folder folder;
    char text[TEXT_BYTES];
    folder_open(&folder);
    write_record(&folder);
    make_page(text, changes[_i].rank);
    change(text, changes[_i].old, changes[_i].new);
    write_page(&folder, changes[_i].rank, text);
    expect_refused(&folder, changes[_i].words);
    folder_close(&folder);
}
END_TEST

START_TEST(a_record_that_is_not_there_not_whole_or_too_much_is_refused)
{
    static const char *const words[] = {
        "no record is there", "rank-1.jsonl is missing: the run had 2 ranks",
        "rank-2.jsonl is there, but the run had 2 ranks", "is empty"};
    struct folder folder;
    char text[TEXT_BYTES];
    folder_open(&folder);
    make_page(text, 0);
    if (_i > 0)
        write_page(&folder, 0, text);
    if (_i > 1)
        write_page(&folder, 1, "");
    if (_i == 2) {
        make_page(text, 1);
        write_page(&folder, 1, text);
        write_page(&folder, 2, text);
    }
    expect_refused(&folder, words[_i]);
    folder_close(&folder);
}
END_TEST

/* What stands where a record should, and may never end. */
START_TEST(what_is_no_file_is_refused_and_not_waited_for)
{
    static const char *const words[] = {"is no file, but", "is no file, but", "is no file, but",
                                        "line 1 is longer than 1048576 bytes"};
    struct folder folder;
    char path[512];
    folder_open(&folder);
    write_record(&folder);
    snprintf(path, sizeof path, "%s/rank-1.jsonl", folder.path);
    ck_assert_int_eq(unlink(path), 0);
    int error = _i == 0   ? mkfifo(path, 0600)
                : _i == 1 ? mkdir(path, 0700)
                : _i == 2 ? symlink("/dev/zero", path)
                          : 0;
    ck_assert_int_eq(error, 0);
    if (_i == 3)
        write_page(&folder, 1, "{");
    ck_assert_int_eq(_i == 3 ? truncate(path, (off_t)1 << 40) : 0, 0);
    expect_refused(&folder, words[_i]);
    ck_assert_int_eq(_i == 1 ? rmdir(path) : unlink(path), 0);
    folder_close(&folder);
}
END_TEST

/* 2^53 + 1 is no double. */
START_TEST(a_seed_is_read_to_its_last_digit)
{
    static const char *const seeds[] = {"9007199254740993", "\"18446744073709551615\""};
    static const uint64_t expected[] = {9007199254740993, UINT64_MAX};
    struct folder folder;
    struct casebook book;
    struct fail fail = {0};
    char text[TEXT_BYTES];
    folder_open(&folder);
    for (int rank = 0; rank < 2; rank++) {
        make_page(text, rank);
        change(text, "\"7\"", seeds[_i]);
        write_page(&folder, rank, text);
    }
    ck_assert_msg(casebook_open(&book, folder.path, &fail) == 0, "%s", fail.text);
    ck_assert_uint_eq(book.options.seed, expected[_i]);
    casebook_close(&book);
    folder_close(&folder);
}
END_TEST

/* Cut at any byte: never read as if it were whole. */
START_TEST(a_record_that_is_cut_off_is_refused_wherever_it_is_cut)
{
    struct folder folder;
    char text[TEXT_BYTES];
    folder_open(&folder);
    write_record(&folder);
    make_page(text, 1);
    size_t length = strlen(text), last_step = (size_t)(strstr(text, "\"step\":2,") - text);
    for (size_t cut = 0; cut < last_step; cut += 7) {
        struct casebook book;
        struct fail fail = {0};
        make_page(text, 1);
        text[cut] = '\0';
        write_page(&folder, 1, text);
        ck_assert_msg(casebook_open(&book, folder.path, &fail) < 0, "cut to %zu of %zu bytes", cut,
                      length);
        casebook_close(&book);
    }
    folder_close(&folder);
}
END_TEST

/* Nobody has an end: all of it that is whole counts. */
START_TEST(a_run_that_did_not_end_is_read)
{
    struct folder folder;
    struct casebook book;
    struct fail fail = {0};
    char text[TEXT_BYTES];
    folder_open(&folder);
    for (int rank = 0; rank < 2; rank++) {
        make_page(text, rank);
        *strstr(text, rank == 0 ? "{\"event\":\"end\"" : "{\"event\":\"step\",\"step\":2,") = '\0';
        write_page(&folder, rank, text);
    }
    ck_assert_msg(casebook_open(&book, folder.path, &fail) == 0, "%s", fail.text);
    ck_assert(!book.ranks[0].ended && !book.ranks[1].ended);
    ck_assert_uint_eq(casebook_steps(&book), 2);
    casebook_close(&book);
    folder_close(&folder);
}
END_TEST

START_TEST(a_resumed_run_has_a_start_for_each_process)
{
    struct folder folder;
    struct casebook book;
    struct fail fail = {0};
    char text[TEXT_BYTES], line[TEXT_BYTES];
    folder_open(&folder);
    for (int rank = 0; rank < 2; rank++) {
        make_page(text, rank);
        snprintf(line, sizeof line, start, rank);
        change(line, "\"first\":0", _i ? "\"first\":3" : "\"first\":5");
        change(line, "\"lr\":0.1", "\"lr\":0.2");
        change(line, "\"frozen\":false", "\"frozen\":true");
        add(text, line);
        snprintf(line, sizeof line, plain, 3, "");
        add(text, line);
        write_page(&folder, rank, text);
    }
    if (_i == 0) {
        expect_refused(&folder, "line 7: 'first' must be the step behind the last one, found 5");
    } else {
        ck_assert_msg(casebook_open(&book, folder.path, &fail) == 0, "%s", fail.text);
        ck_assert_uint_eq(casebook_process(&book, 2), 0);
        ck_assert_uint_eq(casebook_process(&book, 3), 1);
        ck_assert(casebook_options(&book, 2)->lr == 0.1 && casebook_options(&book, 3)->lr == 0.2);
        ck_assert(book.options.lr == 0.1 && book.ranks[1].starts[0].decaying == 2);
        ck_assert(book.ranks[1].starts[1].decaying == 0 && book.ranks[1].starts[1].trained == 1);
        casebook_close(&book);
    }
    folder_close(&folder);
}
END_TEST

Suite *casebook_suite(void)
{
    Suite *suite = suite_create("casebook");
    TCase *tcase = tcase_create("casebook");
    tcase_add_test(tcase, a_whole_record_is_read);
    tcase_add_loop_test(tcase, a_record_that_was_changed_is_refused_by_file_line_and_field, 0,
                        CHANGES);
    tcase_add_loop_test(tcase, a_record_that_is_not_there_not_whole_or_too_much_is_refused, 0, 4);
    tcase_add_loop_test(tcase, what_is_no_file_is_refused_and_not_waited_for, 0, 4);
    tcase_add_loop_test(tcase, a_seed_is_read_to_its_last_digit, 0, 2);
    tcase_add_test(tcase, a_record_that_is_cut_off_is_refused_wherever_it_is_cut);
    tcase_add_test(tcase, a_run_that_did_not_end_is_read);
    tcase_add_loop_test(tcase, a_resumed_run_has_a_start_for_each_process, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
