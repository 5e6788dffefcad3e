/* Report: the tables say what the record says, however long it is; the page escapes what it is given. */
#include "common/report/diagnosis.h"
#include "common/report/html.h"
#include "common/report/spans.h"
#include "common/report/survey.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS_MOST = 16, ROWS_MOST = 4096 };

struct rows {
    double at[ROWS_MOST][COLUMNS_MOST];
    size_t count;
};

/* A table of the folder. */
static struct rows *rows_of(const struct folder *folder, const char *name)
{
    struct rows *rows = calloc(1, sizeof *rows);
    char *text = lesson_text(folder, name), *rest = text;
    ck_assert_ptr_nonnull(rows);
    for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
        ck_assert_uint_lt(rows->count, ROWS_MOST);
        for (size_t i = 0; line && i < COLUMNS_MOST; i++)
            rows->at[rows->count][i] = strtod(strsep(&line, "\t"), NULL);
        rows->count++;
    }
    free(text);
    return rows;
}

static void folder_make(const struct folder *folder, const char *name)
{
    struct program program;
    char command[300];
    snprintf(command, sizeof command, "mkdir -p %s", name);
    program_run(&program, folder->path, command);
    program_close(&program);
}

/* build/report WHAT a out, in the folder; must leave with `code`. What it said on stderr; free is due. */
static char *report(const struct folder *folder, const char *arguments, int code)
{
    struct program program;
    char command[300];
    folder_make(folder, "out");
    snprintf(command, sizeof command, "${LAUNCH%%launch}report %s", arguments);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == code, "%s: %d: %s", arguments, program.code, program.err);
    char *said = strdup(program.err);
    program_close(&program);
    return said;
}

/* --- tables ------------------------------------------------------------------------------------- */

START_TEST(the_tables_are_the_records_numbers)
{
    struct folder folder;
    double losses[64];
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){2, 2}, "--hidden 9 --steps 25 --record a");
    free(report(&folder, "tables a out", 0));
    size_t count = lesson_values(&folder, "a/rank-0.jsonl", "loss", losses, 64);
    struct rows *loss = rows_of(&folder, "out/loss.tsv");
    struct rows *epochs = rows_of(&folder, "out/epochs.tsv");
    struct rows *local = rows_of(&folder, "out/local.tsv");
    struct rows *memory = rows_of(&folder, "out/memory.tsv");
    ck_assert_uint_eq(loss->count, 25);
    ck_assert_uint_ge(count, 25);
    for (size_t k = 0; k < 25; k++) {
        ck_assert_double_eq_tol(loss->at[k][2], losses[k], 1e-8);
        ck_assert_double_eq(loss->at[k][0], (double)k);
        ck_assert_double_eq(loss->at[k][1],
                            k <= 22 ? 64.0 * (double)k : 1438 + 64.0 * (double)(k - 23));
        ck_assert_double_le(local->at[k][2],
                            local->at[k][1]); // the reported one lies among the ranks' own
        ck_assert_double_ge(local->at[k][3], local->at[k][1]);
    }
    ck_assert_uint_eq(epochs->count, 2);
    ck_assert(epochs->at[0][0] == 23 && epochs->at[0][1] == 1438);
    ck_assert(epochs->at[1][0] == 25 && epochs->at[1][1] == 1438 + 128);
    ck_assert_uint_eq(memory->count, 2);
    ck_assert_double_eq_tol(memory->at[0][1], 685 * 4 / 1048576.0, 1e-9);
    free(loss);
    free(epochs);
    free(local);
    free(memory);
    folder_close(&folder);
}
END_TEST

/* 2000 updates: 667 means of three, the last of two. */
START_TEST(a_long_run_is_thinned_by_means_of_all_updates)
{
    struct folder folder;
    double *losses = calloc(2 * 2000, sizeof *losses), sum = 0, thinned = 0;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden none --batch 8 --steps 2000 --record a");
    free(report(&folder, "tables a out", 0));
    lesson_values(&folder, "a/rank-0.jsonl", "loss", losses, 4000);
    struct rows *loss = rows_of(&folder, "out/loss.tsv");
    ck_assert_uint_eq(loss->count, 667);
    for (size_t i = 0; i < loss->count; i++) {
        thinned += loss->at[i][2] * (i < 666 ? 3 : 2);
        ck_assert(loss->at[i][3] <= loss->at[i][2] && loss->at[i][2] <= loss->at[i][4]);
    }
    for (size_t i = 0; i < 50;
         i++) // of the first epoch: samples seen before the middle one of three
        ck_assert(loss->at[i][0] == 3 * (double)i + 1 && loss->at[i][1] == 8 * loss->at[i][0]);
    for (size_t k = 0; k < 2000; k++)
        sum += losses[k];
    ck_assert_double_eq_tol(thinned, sum, 1e-5);
    free(losses);
    free(loss);
    folder_close(&folder);
}
END_TEST

/* What is not finite is in no mean, and counted. */
START_TEST(a_loss_that_is_not_finite_is_left_out_and_counted)
{
    struct case_step steps[4] = {{.loss = 1}, {.loss = NAN}, {.loss = 3}, {.loss = INFINITY}};
    struct case_rank page = {.steps = steps, .step_count = 4};
    struct survey_point all = survey_point(&page, (struct slice){0, 4}, survey_loss);
    struct survey_point none = survey_point(&page, (struct slice){3, 1}, survey_loss);
    ck_assert(all.mean == 2 && all.least == 1 && all.most == 3 && all.lost == 2);
    ck_assert(isnan(none.mean) && isnan(none.least) && none.lost == 1);
}
END_TEST

static const struct {
    double least, most;
    bool logarithmic;
} ranges[] = {{1, 10, false}, {0.1, 10, true}, {0, 10, false}, {-1, 10, false}, {5, 5, false}};

START_TEST(an_axis_is_logarithmic_where_values_are_far_apart_and_above_zero)
{
    struct survey_range range = {0};
    survey_widen(&range, ranges[_i].most);
    survey_widen(&range, NAN);
    survey_widen(&range, ranges[_i].least);
    survey_close(&range);
    ck_assert(range.any && range.logarithmic == ranges[_i].logarithmic);
}
END_TEST

static const char trace[] =
    "{\"traceEvents\":[{\"name\":\"rank 0\",\"ph\":\"M\",\"pid\":0},"
    "{\"name\":\"forward "
    "fc1\",\"cat\":\"compute\",\"ph\":\"X\",\"ts\":100,\"dur\":50,\"pid\":0,\"args\":{\"step\":3}},"
    "{\"name\":\"wait\",\"cat\":\"compute\",\"ph\":\"X\",\"ts\":150,\"dur\":1000,\"pid\":1,"
    "\"args\":{\"step\":3}},"
    "{\"name\":\"bucket "
    "0\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":160,\"dur\":10,\"pid\":1,\"args\":{\"step\":3}},"
    "{\"name\":\"optimizer\",\"cat\":\"compute\",\"ph\":\"X\",\"ts\":990,\"dur\":10,\"pid\":0,"
    "\"args\":{\"step\":4}}]}";

static const struct {
    size_t wanted, ranks;
    long drawn;
    double most;
    const char *rows;
} spans[] = {
    {3, 2, 3, 1.05,
     "0\t0\t0\t0.000000\t0.050000\n1\t0\t1\t0.050000\t1.050000\n1\t1\t2\t0.060000\t0.070000\n"},
    {3, 1, 3, 0.05, "0\t0\t0\t0.000000\t0.050000\n"},
    {9, 2, 4, 0.01, "0\t0\t3\t0.000000\t0.010000\n"}, // the trace has it no more: its last
};

START_TEST(a_trace_gives_the_spans_of_the_step_or_of_its_last)
{
    struct folder folder;
    char path[512], *text = NULL;
    size_t size_bytes = 0;
    double most = 0;
    folder_open(&folder);
    folder_write(&folder, "trace.json", trace, sizeof trace - 1, false, path);
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_int_eq(spans_write(path, spans[_i].wanted, spans[_i].ranks, &most, out),
                     spans[_i].drawn);
    fclose(out);
    ck_assert_str_eq(text, spans[_i].rows);
    ck_assert_double_eq_tol(most, spans[_i].most, 1e-12);
    free(text);
    folder_close(&folder);
}
END_TEST

static const char *const no_traces[] = {"", "[]", "{\"traceEvents\":{}}",
                                        "{\"traceEvents\":[1,{\"ph\":\"X\"}]}"};

START_TEST(what_is_no_trace_is_not_drawn)
{
    struct folder folder;
    char path[512], *text = NULL;
    size_t size_bytes = 0;
    double most = 7;
    folder_open(&folder);
    folder_write(&folder, "trace.json", no_traces[_i], strlen(no_traces[_i]), false, path);
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_int_eq(spans_write(path, 0, 2, &most, out), -1);
    ck_assert(most == 7);
    fclose(out);
    ck_assert_str_eq(text, "");
    free(text);
    folder_close(&folder);
}
END_TEST

/* --- the page ----------------------------------------------------------------------------------- */

START_TEST(text_has_nothing_that_a_browser_would_obey)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    html_format(out, "%s", "<b a=\"1\">'&amp;\033</b>\n");
    fclose(out);
    ck_assert_str_eq(text, "&lt;b a=&quot;1&quot;&gt;&#39;&amp;amp; &lt;/b&gt;\n");
    free(text);
}
END_TEST

START_TEST(a_picture_has_ids_of_its_own_and_a_text_for_those_who_do_not_see_it)
{
    static const char svg[] =
        "<?xml version=\"1.0\"?>\n<svg \n width='1'>\n<title>Gnuplot</title>\n"
        "<use id='a' xlink:href='#b'/><g id=\"c\" clip=\"url(#d)\"/>\n</svg>\n";
    struct folder folder;
    char path[512], *text = NULL;
    size_t size_bytes = 0;
    folder_open(&folder);
    folder_write(&folder, "loss.svg", svg, sizeof svg - 1, false, path);
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert(html_figure(out, folder.path, "loss", "a \"curve\""));
    ck_assert(!html_figure(out, folder.path, "none", "a curve"));
    fclose(out);
    ck_assert_str_eq(text, "<figure>\n<svg id=\"picture-loss\" role=\"img\" aria-label=\"a "
                           "&quot;curve&quot;\" \n width='1'>\n"
                           "<use id='loss-a' xlink:href='#loss-b'/><g id=\"loss-c\" "
                           "clip=\"url(#loss-d)\"/>\n</svg>\n");
    free(text);
    folder_close(&folder);
}
END_TEST

static const struct {
    const char *verdict;
    bool shown;
    const char *words;
} verdicts[] = {
    {"{\"findings\":[],\"notes\":[{\"name\":\"a\",\"text\":\"<i>\"}]}", true,
     "Nothing wrong found.</strong></p></div>\n<h3>Notes</h3>\n<dl>\n<dt>a</dt><dd>&lt;i&gt;</dd>"},
    {"{\"findings\":[{\"member\":\"same-shard\",\"what\":\"<script>\",\"evidence\":[\"1 < "
     "2\",3]}]}",
     true,
     "<strong>same-shard</strong>: &lt;script&gt;</p>\n<dl>\n<dt>evidence</dt><dd>1 &lt; "
     "2</dd>\n</dl>"},
    {"{\"findings\":3}", false, ""},
    {"half a verd", false, ""},
};

START_TEST(a_verdict_is_shown_and_half_a_one_is_not)
{
    struct folder folder;
    char path[512], *text = NULL;
    size_t size_bytes = 0;
    folder_open(&folder);
    folder_write(&folder, "verdict.json", verdicts[_i].verdict, strlen(verdicts[_i].verdict), false,
                 path);
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert(diagnosis_write(out, folder.path) == verdicts[_i].shown);
    fclose(out);
    ck_assert_msg(strstr(text, verdicts[_i].words), "%s", text);
    ck_assert(verdicts[_i].shown || !*text);
    free(text);
    folder_close(&folder);
}
END_TEST

/* Without pictures and doctor there are no sections of them, and no empty figures. */
START_TEST(a_page_says_what_the_run_was_and_proved)
{
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){3, 2}, "--hidden 9 --steps 3 --record '<a>'");
    free(report(&folder, "page '<a>' out", 0));
    char *page = lesson_text(&folder, "out/index.html");
    ck_assert_ptr_nonnull(strstr(page, "<h1>Lesson 3, 2 ranks, 3 updates</h1>"));
    ck_assert_ptr_nonnull(strstr(page, "--record &lt;a&gt; "));
    ck_assert_ptr_nonnull(
        strstr(page, "<li>step 1: parameters = the parameters of every other rank: "
                     "bit for bit, hashes of 685 floats: <strong class=\"good\">ok</strong></li>"));
    ck_assert_ptr_null(strstr(page, "<figure>"));
    ck_assert_ptr_null(strstr(page, "doctor"));
    ck_assert_ptr_null(strstr(page, "<a>"));
    ck_assert_ptr_null(strstr(page, "did not end"));
    free(page);
    folder_close(&folder);
}
END_TEST

static const struct {
    const char *change; // of the record of a good run of two ranks, by a shell
    int code;
    const char *says; // on the page, or instead of one
} changed[] = {
    {"sed -i '4,$d' a/rank-1.jsonl", 1, "is cut off"},
    {"sed -i '$d' a/rank-*.jsonl", 0, "The run did not end by itself: 2 of 2 ranks"},
    {"sed -i '2,$d' a/rank-*.jsonl", 0, "<h1>Lesson 2, 2 ranks, 0 updates</h1>"},
    {"sed -i 's/\"exit_code\":0/\"exit_code\":3/' a/rank-*.jsonl", 0, "rank 0 with exit code 3"},
    {"sed -i 's/\"holds\":true/\"holds\":false/' a/rank-1.jsonl", 0, "step 0, rank 1: "},
    {"sed -i 's/\"proof\":\\[/\"proof\":7,\"old\":[/' a/rank-0.jsonl", 1, "'proof' must be a list"},
    {"sed -i 's/\"holds\":true/\"holds\":1/' a/rank-0.jsonl", 1, "'holds' must be true or false"},
    {"sed -i 's/\"memory\":{\"peak\":/&-/' a/rank-0.jsonl", 1, "'peak' must be a whole number"},
    {"sed -i 's/,\"memory\":{[^}]*}//' a/rank-0.jsonl", 0, "</html>"},
    {"sed -i 's/\"compute_seconds\":[^,]*,//' a/rank-0.jsonl", 0, "</html>"},
    {"rm a/rank-1.jsonl", 1, "is missing"},
    {"echo hello >a/rank-0.jsonl", 1, "not a record"},
    {"rm -r a", 1, "no record is there"},
};

START_TEST(a_record_that_is_whole_has_a_page_and_another_a_sentence)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){2, 2}, "--hidden 9 --steps 3 --record a");
    program_run(&program, folder.path, changed[_i].change);
    program_close(&program);
    free(report(&folder, "tables a out", changed[_i].code));
    char *said = report(&folder, "page a out", changed[_i].code);
    char *page = changed[_i].code == 0 ? lesson_text(&folder, "out/index.html") : strdup(said);
    ck_assert_msg(strstr(page, changed[_i].says), "%s", page);
    ck_assert(changed[_i].code == 0 || strchr(said, '\n') == strrchr(said, '\n'));
    free(page);
    free(said);
    folder_close(&folder);
}
END_TEST

START_TEST(a_wrong_command_line_is_refused)
{
    static const char *const wrong[] = {"", "tables", "page a", "pages a out", "page a out b c"};
    struct folder folder;
    folder_open(&folder);
    char *said = report(&folder, wrong[_i], 2);
    ck_assert_ptr_nonnull(strstr(said, "usage: report tables|page RUN OUT [REFERENCE]"));
    free(said);
    folder_close(&folder);
}
END_TEST

Suite *report_suite(void)
{
    Suite *suite = suite_create("report");
    TCase *tcase = tcase_create("tables");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_tables_are_the_records_numbers);
    tcase_add_test(tcase, a_long_run_is_thinned_by_means_of_all_updates);
    tcase_add_test(tcase, a_loss_that_is_not_finite_is_left_out_and_counted);
    tcase_add_loop_test(tcase, an_axis_is_logarithmic_where_values_are_far_apart_and_above_zero, 0,
                        5);
    tcase_add_loop_test(tcase, a_trace_gives_the_spans_of_the_step_or_of_its_last, 0, 3);
    tcase_add_loop_test(tcase, what_is_no_trace_is_not_drawn, 0, 4);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("page");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, text_has_nothing_that_a_browser_would_obey);
    tcase_add_test(tcase, a_picture_has_ids_of_its_own_and_a_text_for_those_who_do_not_see_it);
    tcase_add_loop_test(tcase, a_verdict_is_shown_and_half_a_one_is_not, 0, 4);
    tcase_add_test(tcase, a_page_says_what_the_run_was_and_proved);
    tcase_add_loop_test(tcase, a_record_that_is_whole_has_a_page_and_another_a_sentence, 0,
                        sizeof changed / sizeof *changed);
    tcase_add_loop_test(tcase, a_wrong_command_line_is_refused, 0, 5);
    suite_add_tcase(suite, tcase);
    return suite;
}
