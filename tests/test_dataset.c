/* A data set is what was asked for, whole, or refused with the place where it is wrong. */
#include "common/dataset.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
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

START_TEST(a_test_set_in_the_tree_is_its_own)
{
    struct loaded digits, twice;
    load(&digits, "digits", NULL, TASK_BY_DATA);
    load(&twice, "digits", "digits", TASK_BY_DATA);
    ck_assert_int_eq(twice.code, 0);
    ck_assert_uint_eq(twice.train.count, 1438);
    ck_assert_uint_eq(twice.test.count, 359);
    ck_assert_mem_eq(digits.test.features, twice.test.features, 359 * 64 * sizeof(float));
    ck_assert_mem_eq(digits.train.labels, twice.train.labels, 1438 * sizeof(int32_t));
    unload(&digits);
    unload(&twice);
}
END_TEST

/* A CSV file, its task as asked for and as it must come out. Row i has the feature i; the words are
 * what a refusal names. */
static const struct {
    const char *text;
    enum task asked, task;
    size_t outputs;
    const char *words[3];
} files[] = {
    {"0,0\n1,2\n2,1\n", TASK_BY_DATA, TASK_CLASSIFY, 3, {0}},
    {"0,0\n1,999\n", TASK_BY_DATA, TASK_CLASSIFY, 1000, {0}},
    {"0,0\n1,1000\n", TASK_BY_DATA, TASK_REGRESS, 1, {0}},
    {"0,0\n1,1.5\n", TASK_BY_DATA, TASK_REGRESS, 1, {0}},
    {"0,0\n1,-1\n", TASK_BY_DATA, TASK_REGRESS, 1, {0}},
    {"0,0\n1,0\n2,0\n3,0\n", TASK_BY_DATA, TASK_REGRESS, 1, {0}},
    {"0,0\n1,2\n", TASK_REGRESS, TASK_REGRESS, 1, {0}},
    {"0,0\n1,1.5\n", TASK_CLASSIFY, 0, 0, {"line 2", "class from 0 to 999", "1.5"}},
    {"0,0\n1,2\n2,-1\n", TASK_CLASSIFY, 0, 0, {"line 3", "class from 0 to 999", "-1"}},
    {"0,0\n1,1000\n", TASK_CLASSIFY, 0, 0, {"line 2", "class from 0 to 999", "1000"}},
    {"0,0\n1,0\n", TASK_CLASSIFY, 0, 0, {"every target is 0", "--task regress"}},
};
enum { FILES = sizeof files / sizeof *files };

START_TEST(a_csv_file_has_the_task_its_targets_say)
{
    struct folder folder;
    struct loaded loaded;
    char path[512];
    folder_open(&folder);
    folder_write(&folder, "t.csv", files[_i].text, strlen(files[_i].text), false, path);
    load(&loaded, path, NULL, files[_i].asked);
    if (files[_i].outputs == 0) {
        const char *words[] = {path, files[_i].words[0], files[_i].words[1], files[_i].words[2],
                               NULL};
        assert_refused(&loaded, words);
    } else {
        ck_assert_msg(loaded.code == 0, "%s", loaded.fail.text);
        ck_assert_int_eq(loaded.train.task, files[_i].task);
        ck_assert_uint_eq(loaded.train.outputs, files[_i].outputs);
        ck_assert_int_eq(loaded.train.labels != NULL, files[_i].task == TASK_CLASSIFY);
        ck_assert_int_eq(loaded.train.targets != NULL, files[_i].task == TASK_REGRESS);
        ck_assert_uint_eq(loaded.test.count, 0); // fewer than five samples
    }
    unload(&loaded);
    folder_close(&folder);
}
END_TEST

/* `count` lines "i,-i,target": width 2. */
static const char *write_rows(const struct folder *folder, const char *name, int count,
                              const char *extra, char path[512])
{
    char text[4096], *end = text;
    for (int i = 0; i < count; i++)
        end += sprintf(end, "%d,%d,%d\n", i, -i, i % 3);
    end += sprintf(end, "%s", extra);
    return folder_write(folder, name, text, (size_t)(end - text), false, path);
}

START_TEST(every_fifth_row_is_for_testing)
{
    struct folder folder;
    struct loaded loaded;
    char path[512];
    folder_open(&folder);
    load(&loaded, write_rows(&folder, "t.csv", 13, "", path), NULL, TASK_BY_DATA);
    ck_assert_int_eq(loaded.code, 0);
    ck_assert_uint_eq(loaded.train.count, 11);
    ck_assert_uint_eq(loaded.test.count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_float_eq(loaded.test.features[2 * i], (float)(5 * i + 4));
    for (size_t i = 0; i < 11; i++) {
        size_t line = i + i / 4;
        ck_assert_float_eq(loaded.train.features[2 * i + 1], -(float)line);
        ck_assert_int_eq(loaded.train.labels[i], (int32_t)(line % 3));
    }
    unload(&loaded);
    folder_close(&folder);
}
END_TEST

START_TEST(with_a_test_set_of_its_own_no_row_is_held_back)
{
    struct folder folder;
    struct loaded loaded;
    char path[512], test_path[512];
    folder_open(&folder);
    write_rows(&folder, "t.csv", 13, "", path);
    write_rows(&folder, "u.csv", 6, "", test_path);
    load(&loaded, path, test_path, TASK_BY_DATA);
    ck_assert_msg(loaded.code == 0, "%s", loaded.fail.text);
    ck_assert_uint_eq(loaded.train.count, 13);
    ck_assert_uint_eq(loaded.test.count, 6);
    unload(&loaded);
    folder_close(&folder);
}
END_TEST

START_TEST(a_test_set_that_does_not_fit_is_refused)
{
    struct folder folder;
    struct loaded loaded;
    char path[512], test_path[512];
    folder_open(&folder);
    write_rows(&folder, "t.csv", 13, "", path);
    load(&loaded, path, "digits", TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){path, "2 features", "digits.csv", "64", NULL});
    load(&loaded, path, write_rows(&folder, "u.csv", 4, "4,-4,3\n", test_path), TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){test_path, "line 5", "from 0 to 2", "found 3", NULL});
    load(&loaded, path, write_rows(&folder, "u.csv", 4, "4,-4,0.5\n", test_path), TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){test_path, "line 5", "found 0.5", NULL});
    load(&loaded, path, test_path, TASK_REGRESS);
    ck_assert_int_eq(loaded.code, 0);
    unload(&loaded);
    static const char wide[] = "0,0,0,0,0,0,0,0,0.5\n";
    load(&loaded, "synthetic", folder_write(&folder, "w.csv", wide, sizeof wide - 1, false, path),
         TASK_BY_DATA);
    assert_refused(&loaded, (const char *[]){"synthetic", "2 targets", path, "1", NULL});
    folder_close(&folder);
}
END_TEST

/* A part of an IDX folder: images of one pixel whose value is the index; `labels` as given. */
static void write_part(const struct folder *folder, const char *part, const char *labels,
                       size_t count)
{
    char path[512], name[64];
    unsigned char images[64] = {0, 0, 8, 3, 0, 0, 0, (unsigned char)count, 0, 0, 0, 1, 0, 0, 0, 1};
    unsigned char bytes[64] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)count};
    for (size_t i = 0; i < count; i++) {
        images[16 + i] = (unsigned char)i;
        bytes[8 + i] = (unsigned char)labels[i];
    }
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    folder_write(folder, name, images, 16 + count, false, path);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    folder_write(folder, name, bytes, 8 + count, false, path);
}

START_TEST(an_idx_folder_is_split_unless_it_has_a_test_part)
{
    struct folder folder;
    struct loaded loaded;
    folder_open(&folder);
    write_part(&folder, "train", "\0\1\2\3\4\5\6", 7);
    load(&loaded, folder.path, NULL, TASK_BY_DATA);
    ck_assert_msg(loaded.code == 0, "%s", loaded.fail.text);
    ck_assert_uint_eq(loaded.train.count, 6);
    ck_assert_uint_eq(loaded.test.count, 1);
    ck_assert_uint_eq(loaded.train.outputs, 10);
    unload(&loaded);
    write_part(&folder, "t10k", "\7\10\11", 3);
    load(&loaded, folder.path, NULL, TASK_BY_DATA);
    ck_assert_int_eq(loaded.code, 0);
    ck_assert_uint_eq(loaded.train.count, 7);
    ck_assert_uint_eq(loaded.test.count, 3);
    ck_assert_int_eq(loaded.test.labels[2], 9);
    unload(&loaded);
    folder_close(&folder);
}
END_TEST

START_TEST(a_label_out_of_range_is_named_with_its_index)
{
    static const char labels[2][7] = {"\0\1\2\3\4\5\6", "\0\1\2\12\4\5\6"};
    struct folder folder;
    struct loaded loaded;
    folder_open(&folder);
    write_part(&folder, "train", labels[_i], 7);
    write_part(&folder, "t10k", labels[1 - _i], 7);
    for (enum task task = TASK_BY_DATA; task <= TASK_REGRESS; task++) {
        load(&loaded, folder.path, NULL, task);
        assert_refused(&loaded, (const char *[]){_i ? "train-labels" : "t10k-labels", "index 3",
                                                 "from 0 to 9", "found 10", NULL});
    }
    folder_close(&folder);
}
END_TEST

START_TEST(fashion_mnist_is_read_whole_or_says_how_to_get_it)
{
    struct loaded loaded;
    load(&loaded, "fashion-mnist", NULL, TASK_BY_DATA);
    if (access("/usr/share/datasets/fashion-mnist", F_OK) < 0) {
        assert_refused(&loaded, (const char *[]){"make data", "dataset-fashion-mnist", NULL});
        return;
    }
    ck_assert_msg(loaded.code == 0, "%s", loaded.fail.text);
    ck_assert_uint_eq(loaded.train.count, 60000);
    ck_assert_uint_eq(loaded.test.count, 10000);
    ck_assert_uint_eq(loaded.train.width, 784);
    ck_assert_uint_eq(loaded.train.outputs, 10);
    unload(&loaded);
}
END_TEST

START_TEST(synthetic_numbers_are_small_dyadic_rationals)
{
    struct loaded loaded, again;
    load(&loaded, "synthetic", NULL, TASK_BY_DATA);
    load(&again, "synthetic", NULL, TASK_BY_DATA);
    ck_assert_int_eq(loaded.code, 0);
    ck_assert_uint_eq(loaded.train.count, 256);
    ck_assert_uint_eq(loaded.test.count, 64);
    ck_assert_uint_eq(loaded.train.width, 8);
    ck_assert_uint_eq(loaded.train.outputs, 2);
    for (size_t i = 0; i < 256 * 8; i++) {
        float twice = 2 * loaded.train.features[i];
        ck_assert(twice == rintf(twice) && fabsf(twice) <= 2);
    }
    for (size_t i = 0; i < 256 * 2; i++) {
        float eightfold = 8 * loaded.train.targets[i];
        ck_assert(eightfold == rintf(eightfold) && fabsf(eightfold) <= 64);
    }
    ck_assert_mem_eq(loaded.train.features, again.train.features, 256 * 8 * sizeof(float));
    ck_assert_mem_eq(loaded.train.targets, again.train.targets, 256 * 2 * sizeof(float));
    unload(&loaded);
    unload(&again);
}
END_TEST

/* The gradient of the mean squared error in w[0][feature] for a linear model of weights and bias
 * 1/4, in float: samples begin, begin + stride, ... of 256, each step in the order given. */
static float gradient(const struct dataset *data, size_t feature, size_t stride)
{
    float sum = 0;
    for (size_t i = 0; i < data->count; i++) {
        size_t sample = i * stride % data->count;
        const float *x = data->features + sample * data->width;
        float y = 0.25f;
        for (size_t j = 0; j < data->width; j++)
            y += 0.25f * x[(j * stride + sample) % data->width];
        float error = y - data->targets[sample * data->outputs];
        sum += 2 * error / (float)(data->count * data->outputs) * x[feature];
    }
    return sum;
}

START_TEST(every_order_of_addition_gives_the_same_bits_on_synthetic)
{
    static const size_t strides[] = {3, 5, 7, 77, 255}; // odd: each reaches all of 256
    struct loaded loaded;
    load(&loaded, "synthetic", NULL, TASK_BY_DATA);
    ck_assert_int_eq(loaded.code, 0);
    for (size_t feature = 0; feature < 8; feature++) {
        float first = gradient(&loaded.train, feature, 1);
        ck_assert(first != 0);
        for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
            ck_assert(gradient(&loaded.train, feature, strides[i]) == first);
    }
    unload(&loaded);
}
END_TEST

Suite *dataset_suite(void)
{
    Suite *suite = suite_create("dataset");
    TCase *tcase = tcase_create("dataset");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, digits_are_1438_to_train_and_359_to_test);
    tcase_add_test(tcase, digits_are_found_from_any_current_directory);
    tcase_add_test(tcase, digits_as_numbers_have_one_target);
    tcase_add_test(tcase, a_name_of_nothing_is_refused);
    tcase_add_test(tcase, a_test_set_in_the_tree_is_its_own);
    tcase_add_loop_test(tcase, a_csv_file_has_the_task_its_targets_say, 0, FILES);
    tcase_add_test(tcase, every_fifth_row_is_for_testing);
    tcase_add_test(tcase, with_a_test_set_of_its_own_no_row_is_held_back);
    tcase_add_test(tcase, a_test_set_that_does_not_fit_is_refused);
    tcase_add_test(tcase, an_idx_folder_is_split_unless_it_has_a_test_part);
    tcase_add_loop_test(tcase, a_label_out_of_range_is_named_with_its_index, 0, 2);
    tcase_add_test(tcase, fashion_mnist_is_read_whole_or_says_how_to_get_it);
    tcase_add_test(tcase, synthetic_numbers_are_no_classes);
    tcase_add_test(tcase, synthetic_numbers_are_small_dyadic_rationals);
    tcase_add_test(tcase, every_order_of_addition_gives_the_same_bits_on_synthetic);
    suite_add_tcase(suite, tcase);
    return suite;
}
