/* Trace: records come back as they went in, and as a file that a stranger's parser accepts. */
#include "common/trace.h"
#include "common/trace_file.h"
#include "tests/comma_locale.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static void opened(struct trace *trace, struct memory *memory)
{
    *memory = (struct memory){{0}, {0}, 0};
    ck_assert_int_eq(trace_init(trace, memory), 0);
}

static void closed(struct trace *trace, const struct memory *memory)
{
    trace_release(trace);
    ck_assert_uint_eq(memory->now_bytes[MEMORY_OTHER], 0);
}

START_TEST(a_trace_that_is_off_records_nothing_and_reads_no_clock)
{
    struct trace_event event = {.kind = TRACE_BUCKET};
    ck_assert(trace_begin(NULL) == 0);
    trace_end(NULL, TRACE_LOSS, 0, 0);
    trace_since(NULL, TRACE_VERIFY);
    trace_ready(NULL, "fc1.weight");
    trace_network(NULL, &event);
}
END_TEST

START_TEST(records_come_back_in_their_lanes_in_order)
{
    struct memory memory;
    struct trace trace;
    opened(&trace, &memory);
    trace.step = 7;
    struct trace_event bucket = {.kind = TRACE_BUCKET, .index = 3, .begin_seconds = 1};
    trace_end(&trace, TRACE_FORWARD, 2, trace_begin(&trace));
    trace_network(&trace, &bucket);
    trace_ready(&trace, "fc2.weight");
    ck_assert_uint_eq(trace_count(&trace, TRACE_COMPUTE), 2);
    ck_assert_uint_eq(trace_count(&trace, TRACE_NETWORK), 1);
    const struct trace_event *forward = trace_at(&trace, TRACE_COMPUTE, 0);
    const struct trace_event *ready = trace_at(&trace, TRACE_COMPUTE, 1);
    ck_assert(forward->step == 7 && forward->kind == TRACE_FORWARD && forward->index == 2);
    ck_assert(forward->begin_seconds <= forward->end_seconds);
    ck_assert(ready->begin_seconds == ready->end_seconds);
    ck_assert(ready->begin_seconds >= forward->end_seconds);
    ck_assert(trace_at(&trace, TRACE_NETWORK, 0)->index == 3);
    closed(&trace, &memory);
}
END_TEST

START_TEST(what_follows_begins_where_the_latest_ended)
{
    struct memory memory;
    struct trace trace;
    opened(&trace, &memory);
    trace_end(&trace, TRACE_WAIT, 0, trace_begin(&trace));
    trace_since(&trace, TRACE_VERIFY);
    ck_assert(trace_at(&trace, TRACE_COMPUTE, 1)->begin_seconds ==
              trace_at(&trace, TRACE_COMPUTE, 0)->end_seconds);
    closed(&trace, &memory);
}
END_TEST

/* Three records a step: the ring ends in the middle of one, which is lost as a whole. */
START_TEST(a_full_ring_keeps_the_last_steps_and_says_which)
{
    struct memory memory;
    struct trace trace;
    opened(&trace, &memory);
    size_t steps = TRACE_CAPACITY / 3 + 100, kept = 0;
    for (trace.step = 0; trace.step < steps; trace.step++) {
        for (int i = 0; i < 3; i++)
            trace_end(&trace, TRACE_DATA, 0, 1);
        struct trace_event event = {.kind = TRACE_ALLREDUCE};
        trace_network(&trace, &event);
    }
    ck_assert_uint_eq(trace_count(&trace, TRACE_COMPUTE), TRACE_CAPACITY);
    size_t first = trace_first_step(&trace);
    ck_assert_uint_eq(first, steps - TRACE_CAPACITY / 3);
    struct trace_reader reader = {.trace = &trace, .first_step = first};
    for (const struct trace_event *event; (event = trace_next(&reader)) != NULL; kept++)
        ck_assert(event->step >= first && event->step < steps);
    ck_assert_uint_eq(kept, 4 * (steps - first));
    closed(&trace, &memory);
}
END_TEST

static const struct {
    struct trace_event event;
    const char *label;
} labels[] = {
    {{.kind = TRACE_DATA}, "data"},
    {{.kind = TRACE_FORWARD, .index = 1}, "forward fc1"},
    {{.kind = TRACE_BACKWARD, .index = 17}, "backward fc17"},
    {{.kind = TRACE_READY, .tensor = "fc2.weight"}, "fc2.weight ready"},
    {{.kind = TRACE_BUCKET, .index = 0}, "bucket 0"},
    {{.kind = TRACE_GATHER, .index = 12}, "all-gather 12"},
    {{.kind = TRACE_ALLREDUCE}, "all-reduce"},
};

START_TEST(a_record_has_a_name)
{
    char text[TRACE_LABEL_BYTES];
    trace_label(&labels[_i].event, text);
    ck_assert_str_eq(text, labels[_i].label);
}
END_TEST

/* --- the file -------------------------------------------------------------------------------- */

static const struct trace_event span = {.kind = TRACE_BACKWARD,
                                        .index = 2,
                                        .step = 5,
                                        .begin_seconds = 10.0000015,
                                        .end_seconds = 10.0000040};
static const struct trace_event instant = {.kind = TRACE_READY,
                                           .step = 5,
                                           .begin_seconds = 10.0000025,
                                           .end_seconds = 10.0000025,
                                           .tensor = "fc2.weight"};
static const struct trace_event bucket = {.kind = TRACE_BUCKET,
                                          .index = 1,
                                          .step = 5,
                                          .begin_seconds = 10.000003,
                                          .end_seconds = 10.25,
                                          .tensors = 2,
                                          .elements = 1000,
                                          .bytes = 4000,
                                          .algorithm = "ring"};

static json_t *written(const struct folder *folder)
{
    struct trace_file file;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_path(folder, "t.json", path);
    ck_assert_int_eq(trace_file_open(&file, path, &fail), 0);
    trace_file_rank(&file, 3);
    trace_file_event(&file, 3, &span, 10);
    trace_file_event(&file, 3, &instant, 10);
    trace_file_event(&file, 3, &bucket, 10);
    ck_assert_int_eq(trace_file_close(&file, 4, &fail), 0);
    json_error_t error;
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(object != NULL, "%s, line %d", error.text, error.line);
    return object;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Event i, of that name and phase, with what every event must have. */
static json_t *event_of(const json_t *file, size_t i, const char *name, const char *phase)
{
    json_t *event = json_array_get(json_object_get(file, "traceEvents"), i);
    ck_assert_str_eq(text_of(event, "name"), name);
    ck_assert_str_eq(text_of(event, "ph"), phase);
    ck_assert(json_is_integer(json_object_get(event, "pid")));
    ck_assert(json_is_integer(json_object_get(event, "tid")));
    return event;
}

static void check_number(const json_t *object, const char *key, double expected)
{
    double found = json_number_value(json_object_get(object, key));
    ck_assert_msg(found == expected, "%s: %.17g is not %.17g", key, found, expected);
}

START_TEST(a_file_has_what_the_trace_event_format_asks_for)
{
    struct folder folder;
    folder_open(&folder);
    if (_i)
        comma_locale_enter();
    json_t *file = written(&folder);
    if (_i)
        comma_locale_leave();
    json_t *name = event_of(file, 0, "process_name", "M");
    ck_assert_str_eq(text_of(json_object_get(name, "args"), "name"), "rank 3");
    ck_assert_str_eq(
        text_of(json_object_get(event_of(file, 2, "thread_name", "M"), "args"), "name"), "compute");
    ck_assert_str_eq(
        text_of(json_object_get(event_of(file, 4, "thread_name", "M"), "args"), "name"), "network");
    json_t *event = event_of(file, 6, "backward fc2", "X");
    check_number(event, "ts", 1.5);
    check_number(event, "dur", 2.5);
    check_number(event, "pid", 3);
    check_number(json_object_get(event, "args"), "step", 5);
    event = event_of(file, 7, "fc2.weight ready", "i");
    check_number(event, "ts", 2.5);
    ck_assert_str_eq(text_of(event, "s"), "t");
    event = event_of(file, 8, "bucket 1", "X");
    check_number(event, "dur", 249997);
    check_number(json_object_get(event, "args"), "elements", 1000);
    check_number(json_object_get(event, "args"), "bytes", 4000);
    check_number(json_object_get(event, "args"), "tensors", 2);
    ck_assert_str_eq(text_of(json_object_get(event, "args"), "algorithm"), "ring");
    ck_assert_uint_eq(json_array_size(json_object_get(file, "traceEvents")), 9);
    check_number(json_object_get(file, "otherData"), "first_step", 4);
    json_decref(file);
    folder_close(&folder);
}
END_TEST

/* A rank is killed while it writes: what was there before is whole. */
START_TEST(a_file_is_replaced_when_it_is_whole)
{
    struct folder folder;
    struct trace_file file;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "t.json", path);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(trace_file_open(&file, path, &fail), 0);
        for (int j = 0; j < 1000 * i; j++)
            trace_file_event(&file, 0, &span, 10);
        json_t *before = json_load_file(path, 0, NULL);
        ck_assert_msg((before != NULL) == (i > 0), "no whole file while one is written");
        json_decref(before);
        ck_assert_int_eq(trace_file_close(&file, 0, &fail), 0);
    }
    json_t *now = json_load_file(path, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(now, "traceEvents")), 1000);
    json_decref(now);
    folder_close(&folder);
}
END_TEST

/* Nobody needs to read it: to open one waits for a reader, and its end would come too early. */
START_TEST(a_pipe_is_refused_at_once)
{
    struct folder folder;
    struct trace_file file;
    struct fail fail = {0};
    char path[PATH_BYTES];
    folder_open(&folder);
    folder_path(&folder, "pipe", path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(trace_file_open(&file, path, &fail), -ESPIPE);
    ck_assert_ptr_nonnull(strstr(fail.text, "is a pipe"));
    ck_assert_ptr_nonnull(strstr(fail.text, path));
    folder_close(&folder);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_named)
{
    struct trace_file file;
    struct fail fail = {0};
    ck_assert_int_eq(trace_file_open(&file, "none/t.json", &fail), -ENOENT);
    ck_assert_msg(strstr(fail.text, "none/t.json") != NULL, "%s", fail.text);
    ck_assert_int_eq(trace_file_close(&file, 0, &fail), 0);
    if (access("/dev/full", W_OK) != 0)
        return; // Linux has this file
    fail = (struct fail){0};
    ck_assert_int_eq(trace_file_open(&file, "/dev/full", &fail), 0);
    for (int i = 0; i < 1000; i++)
        trace_file_event(&file, 0, &span, 10);
    ck_assert_int_eq(trace_file_close(&file, 0, &fail), -ENOSPC);
    ck_assert_msg(strstr(fail.text, "/dev/full") != NULL, "%s", fail.text);
}
END_TEST

Suite *trace_suite(void)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("records");
    tcase_add_test(tcase, a_trace_that_is_off_records_nothing_and_reads_no_clock);
    tcase_add_test(tcase, records_come_back_in_their_lanes_in_order);
    tcase_add_test(tcase, what_follows_begins_where_the_latest_ended);
    tcase_add_test(tcase, a_full_ring_keeps_the_last_steps_and_says_which);
    tcase_add_loop_test(tcase, a_record_has_a_name, 0, sizeof labels / sizeof *labels);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("file");
    tcase_add_loop_test(tcase, a_file_has_what_the_trace_event_format_asks_for, 0, 2);
    tcase_add_test(tcase, a_file_is_replaced_when_it_is_whole);
    tcase_add_test(tcase, a_pipe_is_refused_at_once);
    tcase_add_test(tcase, a_file_that_cannot_be_written_is_named);
    suite_add_tcase(suite, tcase);
    return suite;
}
