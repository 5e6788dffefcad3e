/*
 * dataset: from what a reader found to what training wants. See the header.
 *
 * Tables are read whole, then the task is settled and every target checked, while rows still have
 * the numbers they have in their file; only then are rows taken for training and for testing.
 */
#include "common/dataset.h"
#include "common/csv.h"
#include "common/digits.h"
#include "common/idx.h"
#include "common/synthetic.h"
#include "common/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { CLASSES_MOST = 1000, TEST_EVERY = 5 };

static const char FASHION_MNIST[] = "/usr/share/datasets/fashion-mnist";

static int read_named(struct table *table, const char *name, bool test, struct memory *memory,
                      struct fail *fail)
{
    struct stat status;
    if (strcmp(name, "fashion-mnist") == 0) {
        if (stat(FASHION_MNIST, &status) < 0)
            return fail_set(fail, -ENOENT,
                            "fashion-mnist is not installed: expected the folder %s; run "
                            "`make data`, or install the Debian package dataset-fashion-mnist",
                            FASHION_MNIST);
        name = FASHION_MNIST;
    }
    if (stat(name, &status) < 0)
        return fail_set(fail, -errno,
                        "the data set '%s' is neither digits, fashion-mnist or synthetic, nor a "
                        "folder or file: %s",
                        name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return idx_read(table, name, test, memory, fail);
    return csv_read(table, name, memory, fail);
}

static int read_table(struct table *table, const char *name, bool test,
                      const struct options *options, struct memory *memory, struct fail *fail)
{
    if (strcmp(name, "synthetic") == 0)
        return synthetic_make(table, options->seed, memory, fail);
    if (strcmp(name, "digits") != 0)
        return read_named(table, name, test, memory, fail);
    char path[TABLE_PATH_BYTES];
    int code = digits_path(path, fail);
    return code < 0 ? code : digits_read(table, path, memory, fail);
}

static bool is_class(float target, size_t classes)
{
    return target >= 0 && target < (float)classes && target == floorf(target);
}

static size_t largest_plus_one(const struct table *table)
{
    float largest = 0;
    for (size_t i = 0; i < table->count; i++)
        largest = fmaxf(largest, table->targets[i]);
    return (size_t)largest + 1;
}

/* --task by data, for a file that does not say: whole numbers of which at least one is not 0 are
 * classes, anything else is numbers to predict. */
static enum task task_of(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!is_class(table->targets[i], CLASSES_MOST))
            return TASK_REGRESS;
    return largest_plus_one(table) > 1 ? TASK_CLASSIFY : TASK_REGRESS;
}

static int check_classes(const struct table *table, size_t classes, struct fail *fail)
{
    for (size_t i = 0; i < table->count; i++)
        if (!is_class(table->targets[i], classes))
            return fail_set(fail, -EINVAL, "%s, %s %zu: expected a class from 0 to %zu, found %.9g",
                            table->path, table->unit, i + table->first, classes - 1,
                            (double)table->targets[i]);
    return 0;
}

/* Decides the task and, for classes, how many. */
static int settle(struct table *data, const struct options *options, struct fail *fail)
{
    bool classify = options->task == TASK_CLASSIFY;
    if (classify && data->task == TASK_REGRESS)
        return fail_set(fail, -EINVAL,
                        "--task classify: %s has no classes, only numbers to predict", data->path);
    if (data->task == TASK_BY_DATA)
        data->task = task_of(data);
    if (options->task != TASK_BY_DATA)
        data->task = options->task;
    if (data->task == TASK_REGRESS && data->classes == 0)
        return 0;
    int code = check_classes(data, data->classes ? data->classes : CLASSES_MOST, fail);
    if (code < 0)
        return code;
    if (data->classes == 0)
        data->classes = largest_plus_one(data);
    if (data->classes < 2)
        return fail_set(fail, -EINVAL,
                        "%s: every target is 0: expected at least two classes to tell apart; or "
                        "give --task regress",
                        data->path);
    return 0;
}

/* A test set must fit the model that the training set asks for. */
static int check_test(const struct table *data, struct table *test, struct fail *fail)
{
    if (test->width != data->width)
        return fail_set(fail, -EINVAL, "%s has %zu features a sample, but the test set %s has %zu",
                        data->path, data->width, test->path, test->width);
    if (test->outputs != data->outputs)
        return fail_set(fail, -EINVAL, "%s has %zu targets a sample, but the test set %s has %zu",
                        data->path, data->outputs, test->path, test->outputs);
    test->task = data->task;
    test->classes = data->classes;
    return data->classes ? check_classes(test, data->classes, fail) : 0;
}

enum rows { ROWS_ALL, ROWS_FIFTH, ROWS_OTHERS };

static bool row_is_in(size_t row, enum rows rows)
{
    bool fifth = row % TEST_EVERY == TEST_EVERY - 1;
    return rows == ROWS_ALL || fifth == (rows == ROWS_FIFTH);
}

static size_t count_rows(size_t count, enum rows rows)
{
    size_t fifths = count / TEST_EVERY;
    return rows == ROWS_ALL ? count : rows == ROWS_FIFTH ? fifths : count - fifths;
}

static int dataset_size(struct dataset *dataset, struct table *table, enum rows rows,
                        struct fail *fail)
{
    bool classify = table->task == TASK_CLASSIFY;
    *dataset = (struct dataset){
        .count = count_rows(table->count, rows),
        .width = table->width,
        .outputs = classify ? table->classes : table->outputs,
        .task = table->task,
        .memory = table->memory,
    };
    size_t features = dataset->count * dataset->width, targets = dataset->count * table->outputs;
    dataset->features =
        rows == ROWS_ALL ? table->features // as they are: there is no room for two of a large set
                         : memory_floats(table->memory, MEMORY_BUFFERS, features);
    table->features = rows == ROWS_ALL ? NULL : table->features;
    float *array = memory_floats(table->memory, MEMORY_BUFFERS, targets);
    if (classify)
        dataset->labels = (void *)array; // an element has four bytes either way
    else
        dataset->targets = array;
    if (!dataset->features || !array)
        return fail_set(fail, -ENOMEM, "%s: no memory for %zu samples of %zu features", table->path,
                        dataset->count, dataset->width);
    return 0;
}

/* All rows, which the table then no longer has, or copies of some. */
static int dataset_take(struct dataset *dataset, struct table *table, enum rows rows,
                        struct fail *fail)
{
    int code = dataset_size(dataset, table, rows, fail);
    size_t width = table->width, outputs = table->outputs, to = 0;
    for (size_t i = 0; code == 0 && i < table->count; i++) {
        if (!row_is_in(i, rows))
            continue;
        const float *target = table->targets + i * outputs;
        if (table->features)
            memcpy(dataset->features + to * width, table->features + i * width,
                   width * sizeof(float));
        if (dataset->labels)
            dataset->labels[to] = (int32_t)*target;
        else
            memcpy(dataset->targets + to * outputs, target, outputs * sizeof(float));
        to++;
    }
    return code;
}

int dataset_load(struct dataset *train, struct dataset *test, const struct options *options,
                 struct memory *memory, struct fail *fail)
{
    *train = *test = (struct dataset){0};
    struct table data = {0}, other = {0}; // other: a test set of its own
    int code = read_table(&data, options->data, false, options, memory, fail);
    if (code == 0)
        code = settle(&data, options, fail);
    bool separate = options->test_data || data.has_test;
    const char *name = options->test_data ? options->test_data : options->data;
    if (code == 0 && separate)
        code = read_table(&other, name, true, options, memory, fail);
    if (code == 0 && separate)
        code = check_test(&data, &other, fail);
    bool divide = data.holds_test || !separate;
    if (code == 0)
        code = dataset_take(train, &data, divide ? ROWS_OTHERS : ROWS_ALL, fail);
    if (code == 0 && separate)
        code = dataset_take(test, &other, other.holds_test ? ROWS_FIFTH : ROWS_ALL, fail);
    else if (code == 0)
        code = dataset_take(test, &data, ROWS_FIFTH, fail);
    table_release(&data);
    table_release(&other);
    if (code < 0) {
        dataset_release(train);
        dataset_release(test);
    }
    return code;
}

void dataset_release(struct dataset *dataset)
{
    size_t targets = dataset->count * (dataset->labels ? 1 : dataset->outputs);
    float *array = dataset->labels ? (void *)dataset->labels : dataset->targets;
    if (dataset->memory) {
        memory_return(dataset->memory, MEMORY_BUFFERS, dataset->features,
                      dataset->count * dataset->width);
        memory_return(dataset->memory, MEMORY_BUFFERS, array, targets);
    }
    *dataset = (struct dataset){0};
}
