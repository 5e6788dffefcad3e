/* A data set is what was asked for, whole, or refused with the place where it is wrong. */
#include "common/dataset.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

struct loaded {
    struct dataset train, test;
    struct memory memory;
    struct fail fail;
    int code;
};

static void load(struct loaded *loaded, const char *data, const char *test_data, enum task task)
{
    struct options options = {.data = data, .test_data = test_data, .task = task, .seed = 1};
    *loaded = (struct loaded){0};
    loaded->code =
        dataset_load(&loaded->train, &loaded->test, &options, &loaded->memory, &loaded->fail);
}

static void unload(struct loaded *loaded)
{
    dataset_release(&loaded->train);
    dataset_release(&loaded->test);
    ck_assert_uint_eq(loaded->memory.now_bytes[MEMORY_BUFFERS], 0);
}

/* Refused, nothing left allocated, and the sentence names each of the words. */
static void assert_refused(struct loaded *loaded, const char *const *words)
{
    ck_assert_int_lt(loaded->code, 0);
    ck_assert_int_eq(loaded->code, loaded->fail.code);
    for (; *words; words++)
        ck_assert_msg(strstr(loaded->fail.text, *words), "'%s' is not named in: %s", *words,
                      loaded->fail.text);
    ck_assert_ptr_null(loaded->train.features);
    ck_assert_ptr_null(loaded->test.features);
    unload(loaded);
}

START_TEST(digits_are_1438_to_train_and_359_to_test)
{
    struct loaded digits;
    load(&digits, "digits", NULL, TASK_BY_DATA);
    ck_assert_msg(digits.code == 0, "%s", digits.fail.text);
    ck_assert_uint_eq(digits.train.count, 1438);
    ck_assert_uint_eq(digits.test.count, 359);
    ck_assert_uint_eq(digits.train.width, 64);
    ck_assert_uint_eq(digits.train.outputs, 10);
    ck_assert_int_eq(digits.train.task, TASK_CLASSIFY);
    ck_assert_ptr_null(digits.train.targets);
    /* Rows 0-5 of the file are a 0, 1, 2, 3, 4 and 5: the 4 is the first of the test set. */
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(digits.train.labels[i], i);
    ck_assert_int_eq(digits.train.labels[4], 5);
    ck_assert_int_eq(digits.test.labels[0], 4);
    ck_assert_float_eq(digits.train.features[2], 5.0f / 16);
    ck_assert_float_eq(digits.train.features[64 + 3], 12.0f / 16);
    unload(&digits);
}
END_TEST

START_TEST(digits_are_found_from_any_current_directory)
{
    char before[PATH_MAX];
    struct loaded digits;
    ck_assert_ptr_nonnull(getcwd(before, sizeof before));
    ck_assert_int_eq(chdir("/"), 0);
    load(&digits, "digits", NULL, TASK_BY_DATA);
    ck_assert_int_eq(chdir(before), 0);
    ck_assert_msg(digits.code == 0, "%s", digits.fail.text);
    unload(&digits);
}
END_TEST

START_TEST(digits_as_numbers_have_one_target)
{
    struct loaded digits;
    load(&digits, "digits", NULL, TASK_REGRESS);
    ck_assert_int_eq(digits.code, 0);
    ck_assert_uint_eq(digits.train.outputs, 1);
    ck_assert_ptr_null(digits.train.labels);
    ck_assert_float_eq(digits.test.targets[0], 4);
    unload(&digits);
}
END_TEST

START_TEST(a_name_of_nothing_is_refused)
{
    struct loaded loaded;
    load(&loaded, "no-such-set", NULL, TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){"'no-such-set'", "fashion-mnist", "synthetic", NULL});
    load(&loaded, "digits", "no-such-set", TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){"'no-such-set'", NULL});
}
END_TEST

START_TEST(synthetic_numbers_are_no_classes)
{
    struct loaded loaded;
    load(&loaded, "synthetic", NULL, TASK_CLASSIFY);
    assert_refused(&loaded, (const char *[]){"--task", "synthetic", NULL});
}
END_TEST

Suite *dataset_suite(void)
{
    Suite *suite = suite_create("dataset");
    TCase *tcase = tcase_create("dataset");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, digits_are_1438_to_train_and_359_to_test);
    tcase_add_test(tcase, digits_are_found_from_any_current_directory);
    tcase_add_test(tcase, digits_as_numbers_have_one_target);
    tcase_add_test(tcase, a_name_of_nothing_is_refused);
    tcase_add_test(tcase, synthetic_numbers_are_no_classes);
    suite_add_tcase(suite, tcase);
    return suite;
}
