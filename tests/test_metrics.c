/* Metrics: what was written reads back, by another's reader, as the same numbers. */
#include "common/metrics.h"
#include "tests/comma_locale.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static const struct environment alone = {.world = 1};

static struct metrics *opened(const char *path, int rank, int world)
{
    struct fail fail = {0};
    struct environment environment = {.rank = rank, .world = world};
    struct metrics *metrics = calloc(1, sizeof *metrics);
    ck_assert_msg(metrics_open(metrics, path, &environment, 0, &fail) == 0, "%s", fail.text);
    return metrics;
}

static void closed(struct metrics *metrics)
{
    struct fail fail = {0};
    ck_assert_msg(metrics_close(metrics, &fail) == 0, "%s", fail.text);
    free(metrics);
}

/* Line `index` of the file, as an object. */
static json_t *line_of(const char *path, size_t index)
{
    char line[METRICS_LINE_BYTES + 1] = "";
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i <= index; i++)
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    json_error_t error;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json_is_object(object), "%s: %s", error.text, line);
    return object;
}

static void check_real(const json_t *object, const char *key, double expected)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "%s", key);
    ck_assert_msg(json_number_value(value) == expected, "%s: %.17g is not %.17g", key,
                  json_number_value(value), expected);
}

static void check_event(const json_t *object, const char *event, size_t keys)
{
    ck_assert_str_eq(json_string_value(json_object_get(object, "event")), event);
    ck_assert_uint_eq(json_object_size(object), keys);
}

static const struct metrics_step a_step = {.step = 7,
                                           .epoch = 1,
                                           .lr = 0.05,
                                           .loss = 1.0 / 3,
                                           .loss_local = DBL_MAX,
                                           .samples = 64,
                                           .grad_norm = DBL_TRUE_MIN,
                                           .seconds = 0.1 + 0.2,
                                           .compute_seconds = 1e-5,
                                           .comm_seconds = 0,
                                           .exposed_seconds = -0.0,
                                           .bytes_sent = (size_t)1 << 40,
                                           .messages_sent = 12};

START_TEST(lines_read_back_as_the_same_numbers)
{
    struct folder folder;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "m.jsonl", path);
    struct metrics *metrics = opened(path, 0, 1);
    struct metrics_times times = {
        .compute_seconds = 6, .comm_seconds = 8, .exposed_seconds = 2, .updates = 2, .sent = true};
    struct metrics_epoch epoch = {1, 44, 0.25, 0.5, 0.9575, 12345.678, times};
    struct metrics_summary summary = {.lesson = 4,
                                      .rank = 0,
                                      .world = 1,
                                      .steps = 44,
                                      .test_accuracy = 0.9575,
                                      .comparisons = 12};
    ck_assert_int_eq(metrics_step(metrics, &a_step, &fail), 0);
    ck_assert_int_eq(metrics_epoch(metrics, &epoch, &fail), 0);
    ck_assert_int_eq(metrics_summary(metrics, &summary, &fail), 0);
    closed(metrics);

    json_t *line = line_of(path, 0);
    check_event(line, "step", 16);
    check_real(line, "step", 7);
    check_real(line, "epoch", 1);
    check_real(line, "lr", 0.05);
    check_real(line, "loss", 1.0 / 3);
    check_real(line, "loss_local", DBL_MAX);
    check_real(line, "samples", 64);
    check_real(line, "grad_norm", DBL_TRUE_MIN);
    check_real(line, "seconds", 0.1 + 0.2);
    check_real(line, "compute_seconds", 1e-5);
    check_real(line, "bytes_sent", 0x1p40);
    check_real(line, "messages_sent", 12);
    json_decref(line);
    line = line_of(path, 1);
    check_event(line, "epoch", 11);
    check_real(line, "compute_seconds", 3);
    check_real(line, "overlap_efficiency", 0.75);
    check_real(line, "test_accuracy", 0.9575);
    check_real(line, "samples_per_second", 12345.678);
    json_decref(line);
    line = line_of(path, 2);
    check_event(line, "summary", 29);
    ck_assert(json_is_null(json_object_get(line, "comm_seconds"))); // no update counts
    check_real(line, "lesson", 4);
    check_real(line, "comparisons", 12);
    json_decref(line);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder.path), 0); // and there was nothing else
}
END_TEST

static const struct {
    double comm, exposed;
    bool sent;
    double efficiency;
} overlaps[] = {
    {4, 0, true, 1},   {4, 1, true, 0.75},  {4, 4, true, 0},
    {4, 5, true, 0},   {4, -1e-9, true, 1}, {4, 1, false, NAN},
    {0, 0, true, NAN}, {0, 1, true, NAN},   {NAN, 1, true, NAN},
};

START_TEST(overlap_efficiency_is_the_hidden_part_from_0_to_1_or_nothing)
{
    struct metrics_times times = {.comm_seconds = overlaps[_i].comm,
                                  .exposed_seconds = overlaps[_i].exposed,
                                  .sent = overlaps[_i].sent};
    double found = metrics_overlap_efficiency(&times), expected = overlaps[_i].efficiency;
    ck_assert_msg(isnan(expected) ? isnan(found) : found == expected, "%g", found);
}
END_TEST

START_TEST(a_number_that_is_not_finite_is_null)
{
    struct folder folder;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "m.jsonl", path);
    struct metrics *metrics = opened(path, 0, 1);
    struct metrics_step step = a_step;
    step.loss = NAN;
    step.loss_local = INFINITY;
    step.grad_norm = -INFINITY;
    ck_assert_int_eq(metrics_step(metrics, &step, &fail), 0);
    json_t *line = line_of(path, 0); // whole in the file before it is closed
    ck_assert(json_is_null(json_object_get(line, "loss")));
    ck_assert(json_is_null(json_object_get(line, "loss_local")));
    ck_assert(json_is_null(json_object_get(line, "grad_norm")));
    json_decref(line);
    closed(metrics);
    folder_close(&folder);
}
END_TEST

START_TEST(a_decimal_comma_locale_changes_no_byte)
{
    struct folder folder;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "m.jsonl", path);
    struct metrics *metrics = opened(path, 0, 1);
    comma_locale_enter();
    ck_assert_int_eq(metrics_step(metrics, &a_step, &fail), 0);
    comma_locale_leave();
    closed(metrics);
    json_t *line = line_of(path, 0);
    check_real(line, "lr", 0.05);
    check_real(line, "loss_local", DBL_MAX);
    json_decref(line);
    folder_close(&folder);
}
END_TEST

static const struct {
    const char *given, *written;
} names[] = {{"m.jsonl", "m.rank-3.jsonl"},
             {"m", "m.rank-3"},
             {".m", ".m.rank-3"},
             {"a.b.c", "a.b.rank-3.c"}};

START_TEST(each_rank_has_its_own_file)
{
    struct folder folder;
    char path[PATH_BYTES], expected[PATH_BYTES];
    folder_open(&folder); // its name may have a point: only the file's own counts
    folder_path(&folder, names[_i].given, path);
    folder_path(&folder, names[_i].written, expected);
    struct metrics *metrics = opened(path, 3, 4);
    ck_assert_str_eq(metrics->file.path, expected);
    closed(metrics);
    ck_assert_int_eq(unlink(expected), 0);
    ck_assert_int_eq(rmdir(folder.path), 0); // and there was nothing else
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_named)
{
    struct folder folder;
    struct fail fail = {0};
    struct metrics metrics;
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "none/m.jsonl", path);
    ck_assert_int_eq(metrics_open(&metrics, path, &alone, 0, &fail), -ENOENT);
    ck_assert_msg(strstr(fail.text, path) != NULL, "%s", fail.text);
    ck_assert_int_eq(metrics_close(&metrics, &fail), 0);
    folder_close(&folder);
}
END_TEST

START_TEST(a_path_without_end_is_refused)
{
    char path[METRICS_PATH_BYTES + 8];
    struct metrics metrics;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct fail fail = {0};
    ck_assert_int_eq(metrics_open(&metrics, path, &alone, 0, &fail), -ENAMETOOLONG);
    path[METRICS_PATH_BYTES - 2] = '\0'; // the rank does not fit any more
    fail = (struct fail){0};
    ck_assert_int_eq(metrics_open(&metrics, path, &(struct environment){.world = 4}, 0, &fail),
                     -ENAMETOOLONG);
}
END_TEST

START_TEST(a_full_disk_is_told_at_once)
{
    struct fail fail = {0};
    if (access("/dev/full", W_OK) != 0)
        return; // Linux has this file
    struct metrics *metrics = opened("/dev/full", 0, 1);
    ck_assert_int_eq(metrics_step(metrics, &a_step, &fail), -ENOSPC);
    ck_assert_msg(strstr(fail.text, "/dev/full") != NULL, "%s", fail.text);
    metrics_close(metrics, &fail);
    ck_assert(!metrics->file.open);
    free(metrics);
}
END_TEST

START_TEST(metrics_that_are_off_do_nothing)
{
    struct fail fail = {0};
    struct metrics *metrics = opened(NULL, 0, 1);
    ck_assert_int_eq(metrics_step(metrics, &a_step, &fail), 0);
    closed(metrics);
}
END_TEST

Suite *metrics_suite(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    tcase_add_test(tcase, lines_read_back_as_the_same_numbers);
    tcase_add_loop_test(tcase, overlap_efficiency_is_the_hidden_part_from_0_to_1_or_nothing, 0,
                        sizeof overlaps / sizeof *overlaps);
    tcase_add_test(tcase, a_number_that_is_not_finite_is_null);
    tcase_add_test(tcase, a_decimal_comma_locale_changes_no_byte);
    tcase_add_loop_test(tcase, each_rank_has_its_own_file, 0, sizeof names / sizeof *names);
    tcase_add_test(tcase, a_file_that_cannot_be_written_is_named);
    tcase_add_test(tcase, a_path_without_end_is_refused);
    tcase_add_test(tcase, a_full_disk_is_told_at_once);
    tcase_add_test(tcase, metrics_that_are_off_do_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
