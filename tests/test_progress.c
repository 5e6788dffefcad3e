/* Progress: a line per epoch, a bar where there is a terminal, silence where none is asked for. */
#include "common/progress.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct memory_stream {
    FILE *out;
    char *text;
    size_t size_bytes;
};

static void stream_open(struct memory_stream *stream)
{
    stream->out = open_memstream(&stream->text, &stream->size_bytes);
    ck_assert_ptr_nonnull(stream->out);
}

static void stream_close(struct memory_stream *stream)
{
    fclose(stream->out);
    free(stream->text);
}

static size_t occurrences(const char *text, char letter)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == letter;
    return count;
}

/* `steps` updates, one each 10 ms, an epoch each 50. */
static void train(struct progress *progress, size_t steps)
{
    progress_plan(progress, 0, steps, (steps + 49) / 50, 100);
    for (size_t i = 0; i < steps; i++) {
        double now = 100 + 0.01 * (double)(i + 1);
        struct progress_step step = {i + 1, i / 50, 0.5, 0.05, 64, now};
        struct progress_epoch epoch = {i / 50, 0.5, 0.25, 0.9575, 0.05, 6400};
        progress_step(progress, &step);
        if (i % 50 == 49)
            progress_epoch(progress, &epoch);
    }
    progress_clear(progress);
}

START_TEST(elsewhere_there_is_one_plain_line_per_epoch)
{
    static const enum progress_kind kinds[] = {PROGRESS_AUTO, PROGRESS_NEVER};
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, kinds[_i]);
    train(&progress, 500);
    fflush(stream.out);
    ck_assert_uint_eq(occurrences(stream.text, '\n'), 10);
    ck_assert_uint_eq(occurrences(stream.text, '\r') + occurrences(stream.text, '\033'), 0);
    ck_assert_ptr_nonnull(strstr(stream.text, "epoch  3/10  loss 0.5000  test loss 0.2500  "
                                              "accuracy 95.75 %  lr 0.05  6400 samples/s\n"));
    stream_close(&stream);
}
END_TEST

START_TEST(a_bar_is_drawn_over_itself_ten_times_a_second)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_ALWAYS);
    train(&progress, 49); // 0.49 seconds
    fflush(stream.out);
    ck_assert_uint_eq(occurrences(stream.text, '\n'), 0);
    ck_assert_uint_eq(occurrences(stream.text, '['), 2 * 5 + 1); // a bar and its erasure; cleared
    ck_assert_str_eq(strrchr(stream.text, '\r'), "\r\033[K");
    stream_close(&stream);
}
END_TEST

START_TEST(a_bar_tells_share_rate_and_time_left)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_ALWAYS);
    progress_plan(&progress, 100, 400, 4, 0); // resumed after 100 updates
    progress_step(&progress, &(struct progress_step){200, 1, 0.5, 0.05, 6400, 100});
    fflush(stream.out);
    ck_assert_str_eq(stream.text, "\r[########--------]  50 %  epoch 2/4  loss 0.5  lr 0.05  "
                                  "64 samples/s  3:20 left\033[K");
    stream_close(&stream);
}
END_TEST

START_TEST(a_bar_never_wraps)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_ALWAYS);
    progress_plan(&progress, 0, SIZE_MAX, SIZE_MAX, 0);
    progress_step(&progress, &(struct progress_step){1, SIZE_MAX - 1, -1.234e-300, 1e-300, 1, 1e9});
    fflush(stream.out);
    ck_assert_uint_le(strlen(stream.text), strlen("\r") + 79 + strlen("\033[K"));
    stream_close(&stream);
}
END_TEST

/* A row of what a terminal of so many columns is shown. */
static const struct {
    unsigned short columns;
    const char *row;
} widths[] = {
    {300, "[####------]  40 %  epoch 4/10  loss 0.125  lr 0.05  51200 samples/s  0:30 left"},
    {80, "[####------]  40 %  epoch 4/10  loss 0.125  lr 0.05  51200 samples/s  0:30 left"},
    {76, "[##----]  40 %  epoch 4/10  loss 0.125  lr 0.05  51200 samples/s  0:30 left"},
    {72, " 40 %  epoch 4/10  loss 0.125  lr 0.05  51200 samples/s  0:30 left"},
    {66, "[##---]  40 %  epoch 4/10  loss 0.125  51200 samples/s  0:30 left"},
    {57, "[###-----]  40 %  loss 0.125  51200 samples/s  0:30 left"},
    {40, "[###-----]  40 %  loss 0.125  0:30 left"},
    {22, " 40 %  loss 0.125"},
    {6, " 40 %"},
    {3, " 4"},
};

START_TEST(a_bar_fits_the_terminal)
{
    struct winsize size = {.ws_row = 24, .ws_col = widths[_i].columns};
    struct progress progress;
    char shown[256], expected[256];
    int ours, theirs;
    if (openpty(&ours, &theirs, NULL, NULL, &size) != 0)
        return; // no pseudo-terminals here
    FILE *out = fdopen(theirs, "w");
    ck_assert_ptr_nonnull(out);
    progress_begin(&progress, out, PROGRESS_ALWAYS);
    progress_plan(&progress, 0, 100, 10, 0);
    progress_step(&progress, &(struct progress_step){40, 3, 0.125, 0.05, 1024000, 20});
    ssize_t length = read(ours, shown, sizeof shown - 1);
    ck_assert_int_gt(length, 0);
    shown[length] = '\0';
    snprintf(expected, sizeof expected, "\r%s\033[K", widths[_i].row);
    ck_assert_str_eq(shown, expected);
    ck_assert_uint_lt(strlen(widths[_i].row), widths[_i].columns);
    fclose(out);
    close(ours);
}
END_TEST

START_TEST(a_run_longer_than_planned_stays_at_the_end)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_ALWAYS);
    progress_plan(&progress, 0, 0, 0, 0);
    progress_step(&progress, &(struct progress_step){3, 0, NAN, 0, 1, 1});
    fflush(stream.out);
    ck_assert_ptr_nonnull(strstr(stream.text, "[####################] 100 %"));
    stream_close(&stream);
}
END_TEST

START_TEST(a_speed_that_was_not_measured_is_left_out)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_NEVER);
    progress_plan(&progress, 0, 1, 1, 0);
    progress_epoch(&progress, &(struct progress_epoch){0, 1, 2, 0.5, 0.1, NAN});
    fflush(stream.out);
    ck_assert_str_eq(stream.text,
                     "epoch 1/1  loss 1.0000  test loss 2.0000  accuracy 50.00 %  lr 0.1\n");
    stream_close(&stream);
}
END_TEST

START_TEST(regression_has_no_accuracy)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_NEVER);
    progress_plan(&progress, 0, 1, 1, 0);
    progress_epoch(&progress, &(struct progress_epoch){0, 1, 2, NAN, 0.1, 3});
    fflush(stream.out);
    ck_assert_str_eq(stream.text,
                     "epoch 1/1  loss 1.0000  test loss 2.0000  lr 0.1  3 samples/s\n");
    stream_close(&stream);
}
END_TEST

START_TEST(no_test_samples_are_named_and_large_losses_short)
{
    struct memory_stream stream;
    struct progress progress;
    stream_open(&stream);
    progress_begin(&progress, stream.out, PROGRESS_NEVER);
    progress_plan(&progress, 0, 2, 2, 0);
    progress_epoch(&progress, &(struct progress_epoch){0, 1, NAN, NAN, 0.1, NAN});
    progress_epoch(&progress, &(struct progress_epoch){1, 999999.5, 1.25e34, NAN, 0.1, NAN});
    fflush(stream.out);
    ck_assert_str_eq(stream.text, "epoch 1/2  loss 1.0000  no test samples  lr 0.1\n"
                                  "epoch 2/2  loss 999999.5000  test loss 1.25e+34  lr 0.1\n");
    stream_close(&stream);
}
END_TEST

START_TEST(no_stream_means_silence)
{
    struct progress progress;
    progress_begin(&progress, NULL, PROGRESS_ALWAYS);
    train(&progress, 100);
    ck_assert(!progress.bar && !progress.drawn);
}
END_TEST

static const struct {
    const char *kind; // of terminal
    bool bar;
} terminals[] = {{"xterm", true}, {"dumb", false}};

START_TEST(a_terminal_that_can_gets_a_bar)
{
    struct progress progress;
    int ours, theirs;
    if (openpty(&ours, &theirs, NULL, NULL, NULL) != 0)
        return; // no pseudo-terminals here
    const char *set = getenv("TERM");
    char before[64] = "";
    snprintf(before, sizeof before, "%s", set ? set : "");
    setenv("TERM", terminals[_i].kind, 1);
    FILE *out = fdopen(theirs, "w");
    ck_assert_ptr_nonnull(out);
    progress_begin(&progress, out, PROGRESS_AUTO);
    if (set)
        setenv("TERM", before, 1);
    else
        unsetenv("TERM");
    ck_assert(progress.bar == terminals[_i].bar);
    fclose(out);
    close(ours);
}
END_TEST

Suite *progress_suite(void)
{
    Suite *suite = suite_create("progress");
    TCase *tcase = tcase_create("progress");
    tcase_add_loop_test(tcase, elsewhere_there_is_one_plain_line_per_epoch, 0, 2);
    tcase_add_test(tcase, a_bar_is_drawn_over_itself_ten_times_a_second);
    tcase_add_test(tcase, a_bar_tells_share_rate_and_time_left);
    tcase_add_test(tcase, a_bar_never_wraps);
    tcase_add_loop_test(tcase, a_bar_fits_the_terminal, 0, sizeof widths / sizeof *widths);
    tcase_add_test(tcase, a_run_longer_than_planned_stays_at_the_end);
    tcase_add_test(tcase, a_speed_that_was_not_measured_is_left_out);
    tcase_add_test(tcase, regression_has_no_accuracy);
    tcase_add_test(tcase, no_test_samples_are_named_and_large_losses_short);
    tcase_add_test(tcase, no_stream_means_silence);
    tcase_add_loop_test(tcase, a_terminal_that_can_gets_a_bar, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
