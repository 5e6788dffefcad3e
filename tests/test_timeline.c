/* Timeline: hand-made records, and the text that must come of them. */
#include "common/timeline.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* A window of 96 seconds from 1000 on: a column is a second. */
static void begin(struct timeline *timeline)
{
    timeline_init(timeline, 1000, 1000 + TIMELINE_COLUMNS, 2);
}

static void add(struct timeline *timeline, enum trace_kind kind, uint32_t index, double from,
                double to)
{
    struct trace_event event = {
        .kind = kind, .index = index, .begin_seconds = 1000 + from, .end_seconds = 1000 + to};
    timeline_add(timeline, 1, &event);
}

static void check(const struct timeline *timeline, enum trace_lane lane, const char *expected)
{
    char text[TIMELINE_COLUMNS + 1], whole[TIMELINE_COLUMNS + 1];
    snprintf(whole, sizeof whole, "%-*s", TIMELINE_COLUMNS, expected);
    timeline_lane(timeline, 1, lane, text);
    ck_assert_str_eq(text, whole);
}

START_TEST(spans_become_blocks_with_their_names)
{
    struct timeline timeline;
    begin(&timeline);
    add(&timeline, TRACE_DATA, 0, 0, 1);
    add(&timeline, TRACE_FORWARD, 1, 1, 14);
    add(&timeline, TRACE_FORWARD, 2, 14, 18);
    add(&timeline, TRACE_LOSS, 0, 18, 20);
    add(&timeline, TRACE_BACKWARD, 2, 20, 23);
    add(&timeline, TRACE_BACKWARD, 1, 23, 40);
    add(&timeline, TRACE_WAIT, 0, 41, 50);
    add(&timeline, TRACE_BUCKET, 0, 24, 34);
    add(&timeline, TRACE_BUCKET, 1, 34, 38);
    add(&timeline, TRACE_BUCKET, 2, 38, 40);
    add(&timeline, TRACE_BUCKET, 12, 45, 47);
    check(&timeline, TRACE_COMPUTE, "d[forward fc1][f2]llb2-[backward fc1---] [wait---]");
    check(&timeline, TRACE_NETWORK, "                        [bucket 0][1-]22     12");
}
END_TEST

START_TEST(a_column_belongs_to_the_span_that_fills_most_of_it)
{
    struct timeline timeline;
    begin(&timeline);
    add(&timeline, TRACE_DATA, 0, 0, 0.4);
    add(&timeline, TRACE_OPTIMIZER, 0, 0.4, 1);
    add(&timeline, TRACE_LOSS, 0, 1.9, 3.1);
    add(&timeline, TRACE_READY, 0, 5.5, 5.5); // an instant fills nothing
    add(&timeline, TRACE_LOSS, 0, 8, 8.8);
    add(&timeline, TRACE_OPTIMIZER, 0, 8.8, 9); // later, and less of the column
    check(&timeline, TRACE_COMPUTE, "o[l]    l");
}
END_TEST

START_TEST(what_lies_outside_the_window_is_left_out)
{
    struct timeline timeline;
    begin(&timeline);
    add(&timeline, TRACE_DATA, 0, -5, -1);
    add(&timeline, TRACE_BUCKET, 0, -5, 2);
    add(&timeline, TRACE_WAIT, 0, 95, 200);
    check(&timeline, TRACE_NETWORK, "00");
    char last[TIMELINE_COLUMNS + 1];
    timeline_lane(&timeline, 1, TRACE_COMPUTE, last);
    ck_assert(last[94] == ' ' && last[95] == 'w');
    ck_assert(timeline.comm_seconds[1] == 2 && timeline.exposed_seconds[1] == 1);
}
END_TEST

START_TEST(ranks_beyond_those_drawn_do_no_harm)
{
    struct timeline timeline;
    struct trace_event event = {.kind = TRACE_DATA, .begin_seconds = 1, .end_seconds = 2};
    timeline_init(&timeline, 0, 3, 1000);
    ck_assert_int_eq(timeline.ranks, TIMELINE_RANKS_MOST);
    timeline_add(&timeline, 999, &event);
    timeline_add(&timeline, TIMELINE_RANKS_MOST, &event);
}
END_TEST

START_TEST(the_print_says_what_was_hidden)
{
    char text[4096] = "";
    struct timeline timeline;
    begin(&timeline);
    add(&timeline, TRACE_BUCKET, 0, 10, 20);
    add(&timeline, TRACE_WAIT, 0, 18, 20);
    FILE *out = fmemopen(text, sizeof text, "w");
    timeline_print(&timeline, 5, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "timeline of step 5: 96000000.0 us, a column is 1000000.0"));
    ck_assert_ptr_nonnull(strstr(
        text, "rank 1: 10000000.0 us on the network, 2000000.0 us of waiting for it, 80 % hidden"));
    ck_assert_ptr_null(strstr(text, "rank 0: ")); // nothing was sent
    const char *row = strstr(text, "network |");
    ck_assert_ptr_nonnull(row);
    ck_assert_ptr_null(strstr(row + 1, "network |"));
    ck_assert(strncmp(row + 9 + 10, "[bucket 0]", 10) == 0);
}
END_TEST

Suite *timeline_suite(void)
{
    Suite *suite = suite_create("timeline");
    TCase *tcase = tcase_create("timeline");
    tcase_add_test(tcase, spans_become_blocks_with_their_names);
    tcase_add_test(tcase, a_column_belongs_to_the_span_that_fills_most_of_it);
    tcase_add_test(tcase, what_lies_outside_the_window_is_left_out);
    tcase_add_test(tcase, ranks_beyond_those_drawn_do_no_harm);
    tcase_add_test(tcase, the_print_says_what_was_hidden);
    suite_add_tcase(suite, tcase);
    return suite;
}
