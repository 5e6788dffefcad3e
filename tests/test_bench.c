/* The benchmark: what it fits, what it prints, and the choice it writes for --algorithm auto. How
 * long anything takes is nowhere asserted, only that it takes some time. */
#include "lesson02_allreduce/measured.h"
#include "lesson02_allreduce/pingpong.h"
#include "lesson02_allreduce/tuning.h"
#include "tests/lessons.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int pingpong_body(struct ranks_self *self)
{
    struct cost_sample samples[PINGPONG_SIZES] = {{0, 0}};
    struct cost_link link = {.cores = 0};
    int error = pingpong(self->comm, samples, &self->fail);
    for (size_t i = 0; i < PINGPONG_SIZES && !error; i++)
        error = ranks_expect(self, (samples[i].seconds > 0) == (self->rank == 0),
                             "%zu bytes took %g s", samples[i].bytes, samples[i].seconds);
    if (error || self->rank != 0)
        return error != 0;
    error = costmodel_fit(&link, samples, PINGPONG_SIZES);
    return ranks_expect(self, !error && link.alpha_seconds + link.beta_seconds > 0,
                        "fit: error %d, alpha %g, beta %g", error, link.alpha_seconds,
                        link.beta_seconds);
}

START_TEST(a_ping_pong_takes_time_at_every_size)
{
    struct ranks_result result;
    ranks_run(_i, pingpong_body, NULL, &result);
    ranks_assert_ok(&result);
    ck_assert_double_gt(pingpong_gamma(), 0);
}
END_TEST

/* Times of ring, root, tree and direct at 4, 16 and 64 bytes; 0: not measured. */
static const struct {
    double ring[3], root[3], tree[3], direct[3];
    struct choice expected;
} chosen[] = {
    /* nothing is clearly faster than the built-in choice, which keeps its border */
    {.ring = {10, 10, 12},
     .direct = {12, 12, 10},
     .expected = {{{20, ALGORITHM_DIRECT}, {INT64_MAX, ALGORITHM_RING}}}},
    /* one is, everywhere */
    {.ring = {10, 10, 10}, .direct = {13, 13, 13}, .expected = {{{INT64_MAX, ALGORITHM_RING}}}},
    {.ring = {13, 13, 13}, .direct = {10, 10, 10}, .expected = {{{INT64_MAX, ALGORITHM_DIRECT}}}},
    /* at the first size only */
    {.ring = {20, 20, 20},
     .root = {10, 0, 0},
     .direct = {20, 20, 20},
     .expected = {{{8, ALGORITHM_ROOT}, {20, ALGORITHM_DIRECT}, {INT64_MAX, ALGORITHM_RING}}}},
    /* that of the size before stays while it is near the fastest, and not longer */
    {.ring = {14, 10, 10},
     .root = {10, 12, 13},
     .direct = {30, 30, 30},
     .expected = {{{32, ALGORITHM_ROOT}, {INT64_MAX, ALGORITHM_RING}}}},
    {.ring = {14, 10, 10},
     .root = {10, 13, 13},
     .direct = {30, 30, 30},
     .expected = {{{8, ALGORITHM_ROOT}, {INT64_MAX, ALGORITHM_RING}}}},
    /* the built-in one is taken again where it is near, though another stood and is faster */
    {.ring = {30, 30, 12},
     .root = {10, 10, 10},
     .direct = {30, 30, 30},
     .expected = {{{32, ALGORITHM_ROOT}, {INT64_MAX, ALGORITHM_RING}}}},
    /* of two alike the first, whichever was faster today */
    {.ring = {30, 30, 30},
     .root = {11, 10, 11},
     .tree = {10, 11, 10},
     .direct = {30, 30, 30},
     .expected = {{{INT64_MAX, ALGORITHM_ROOT}}}},
};
enum { CHOSEN = sizeof chosen / sizeof *chosen };

START_TEST(the_built_in_choice_is_left_only_where_another_is_clearly_faster)
{
    const struct choice builtin = {{{20, ALGORITHM_DIRECT}, {INT64_MAX, ALGORITHM_RING}}};
    struct measured measured = {.count = 3, .bytes = {4, 16, 64}};
    for (size_t size = 0; size < 3; size++) {
        measured.seconds[size][ALGORITHM_RING] = chosen[_i].ring[size];
        measured.seconds[size][ALGORITHM_ROOT] = chosen[_i].root[size];
        measured.seconds[size][ALGORITHM_TREE] = chosen[_i].tree[size];
        measured.seconds[size][ALGORITHM_DIRECT] = chosen[_i].direct[size];
    }
    struct choice choice = measured_choice(&measured, &builtin);
    for (size_t row = 0; row < 3; row++) {
        ck_assert_int_eq(choice.rows[row].most_bytes, chosen[_i].expected.rows[row].most_bytes);
        ck_assert_int_eq(choice.rows[row].algorithm, chosen[_i].expected.rows[row].algorithm);
    }
}
END_TEST

static const struct tuning OURS = {.world = 4, .transport = COMM_UNIX};

/* Closes the folder; fails the test if anything but this file was left there. */
static void close_with_only(const struct folder *folder, const char *path)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder->path), 0);
}

START_TEST(a_tuning_file_is_read_as_it_was_written)
{
    struct choice read, written = {.rows = {{4096, ALGORITHM_DIRECT},
                                            {65536, ALGORITHM_HALVING},
                                            {INT64_MAX, ALGORITHM_RING}}};
    struct fail fail = {0};
    struct folder folder;
    char path[512], text[256] = "";
    folder_open(&folder);
    folder_path(&folder, "tuning", path);
    ck_assert_int_eq(tuning_write(&OURS, &written, path, &fail), 0);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_str_eq(text, "staircase tuning 1, world 4, transport unix\n"
                           "up to 4096 direct\n"
                           "up to 65536 halving\n"
                           "any ring\n");
    ck_assert_msg(tuning_read(&OURS, &read, path, &fail) == 0, "%s", fail.text);
    ck_assert_mem_eq(&read, &written, sizeof read);
    written = read = choice_fixed(ALGORITHM_TREE); // one that is there is replaced
    ck_assert_int_eq(tuning_write(&OURS, &written, path, &fail), 0);
    ck_assert_int_eq(tuning_read(&OURS, &read, path, &fail), 0);
    ck_assert_mem_eq(&read, &written, sizeof read);
    close_with_only(&folder, path);
}
END_TEST

#define HEAD "staircase tuning 1, world 4, transport unix\n"

static const struct {
    const char *text, *said;
} refused[] = {
    {"", "is no tuning file"},
    {"bytes,algorithm\n", "is no tuning file"},
    {"staircase tuning 2, world 4, transport unix\nany ring\n", "is no tuning file"},
    {"staircase tuning 1, world 4, transport unix", "is no tuning file"},
    {"staircase tuning 1, world 3, transport unix\nany ring\n",
     "is for 'world 3, transport unix', this run is 'world 4, transport unix'"},
    {"staircase tuning 1, world 4, transport tcp\nany ring\n", "is for 'world 4, transport tcp'"},
    {HEAD, "does not end with one line"},
    {HEAD "up to 4096 direct\n", "does not end with one line"},
    {HEAD "any ring\nany ring\n", "does not end with one line"},
    {HEAD "any ring\n\n", "does not end with one line"},
    {HEAD "any ring", "does not end with one line"},
    {HEAD "up to 1 ring\nup to 2 ring\nup to 3 ring\nup to 4 ring\nup to 5 ring\nup to 6 ring\n"
          "up to 7 ring\nup to 8 ring\nup to 9 ring\nup to 10 ring\nup to 11 ring\nup to 12 ring\n"
          "up to 13 ring\nup to 14 ring\nup to 15 ring\nup to 16 ring\nany ring\n",
     "does not end with one line"},
    {HEAD "any auto\n", "line 2 is not"},
    {HEAD "any Ring\n", "line 2 is not"},
    {HEAD "any ring \n", "line 2 is not"},
    {HEAD "any \n", "line 2 is not"},
    {HEAD "up to -1 ring\nany ring\n", "line 2 is not"},
    {HEAD "up to 0 ring\nany ring\n", "line 2 is not"},
    {HEAD "up to 4096\nany ring\n", "line 2 is not"},
    {HEAD "up to 4096 torus\nany ring\n", "line 2 is not"},
    {HEAD "up to 9223372036854775807 ring\nany ring\n", "line 2 is not"},
    {HEAD "up to 99999999999999999999 ring\nany ring\n", "line 2 is not"},
    {HEAD "up to 8 ring\nup to 8 direct\nany ring\n", "line 3 is not"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(a_tuning_file_that_is_not_right_is_refused_by_name)
{
    struct choice choice;
    struct fail fail = {0};
    struct folder folder;
    char path[512];
    folder_open(&folder);
    folder_write(&folder, "t", refused[_i].text, strlen(refused[_i].text), false, path);
    ck_assert_int_eq(tuning_read(&OURS, &choice, path, &fail), -EINVAL);
    ck_assert_msg(strstr(fail.text, path) && strstr(fail.text, refused[_i].said), "%s", fail.text);
    folder_close(&folder);
}
END_TEST

START_TEST(a_tuning_file_that_cannot_be_written_or_read_is_named)
{
    struct choice choice = choice_fixed(ALGORITHM_RING);
    struct fail fail = {0};
    ck_assert_int_eq(tuning_write(&OURS, &choice, "/nowhere/tuning", &fail), -ENOENT);
    ck_assert_ptr_nonnull(strstr(fail.text, "/nowhere/tuning"));
    fail.code = 0;
    ck_assert_int_eq(tuning_read(&OURS, &choice, "/nowhere/tuning", &fail), -ENOENT);
    ck_assert_ptr_nonnull(strstr(fail.text, "/nowhere/tuning"));
}
END_TEST

START_TEST(only_a_tuning_file_may_be_replaced)
{
    static const struct {
        const char *text;
        int error;
    } rows[] = {{"", -EEXIST},
                {"int main(void) { return 0; }\n", -EEXIST},
                {"staircase tuning", -EEXIST},
                {HEAD, 0},
                {"staircase tuning 2, world 9, transport pigeon\n", 0}};
    struct folder folder;
    char path[512], text[128];
    folder_open(&folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fail fail = {0};
        folder_write(&folder, "t", rows[i].text, strlen(rows[i].text), false, path);
        ck_assert_int_eq(tuning_check(path, &fail), rows[i].error);
        ck_assert(!rows[i].error || (strstr(fail.text, path) && strstr(fail.text, "remove it")));
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        ck_assert_str_eq(text, rows[i].text);
    }
    close_with_only(&folder, path);
}
END_TEST

START_TEST(what_is_no_file_is_not_replaced_and_what_is_not_there_is_tried)
{
    struct fail directory = {0}, pipe = {0}, none = {0}, nowhere = {0};
    struct folder folder;
    char path[512];
    folder_open(&folder);
    ck_assert_int_eq(tuning_check(folder.path, &directory), -EEXIST);
    ck_assert_int_eq(mkfifo(folder_path(&folder, "pipe", path), 0600), 0);
    ck_assert_int_eq(tuning_check(path, &pipe), -EEXIST);
    ck_assert_int_eq(tuning_check(folder_path(&folder, "new", path), &none), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(tuning_check("/nowhere/tuning", &nowhere), -ENOENT);
    ck_assert_ptr_nonnull(strstr(nowhere.text, "cannot write /nowhere/tuning: "));
    folder_close(&folder);
}
END_TEST

/* How often a text stands in another. */
static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        found++;
    return found;
}

static const char TITLES[] = "|     bytes |    min us | median us |    p99 us | alg GB/s | "
                             "bus GB/s | predicted us | error % |\n";

/* A row's columns follow from each other, as far as its digits go: times are printed to a tenth. */
static void check_row(const char *line, int world)
{
    double bytes, least, median, p99, algorithm, bus, model = 0, error = 0;
    int found = sscanf(line, "[0] | %lf | %lf | %lf | %lf | %lf | %lf | %lf | %lf |\n", &bytes,
                       &least, &median, &p99, &algorithm, &bus, &model, &error);
    ck_assert_int_eq(found, world > 1 ? 8 : 6);
    ck_assert_msg((bytes == 4 || bytes == 1024) && 0 <= least && least <= median && median <= p99,
                  "%.100s", line);
    if (world == 1)
        return;
    double slowest = bytes / (median + 0.05) / 1e3, fastest = bytes / (median - 0.05) / 1e3;
    ck_assert_msg(algorithm > slowest - 0.001 && algorithm < fastest + 0.001, "%.100s", line);
    ck_assert_msg(fabs(bus - algorithm * 2 * (world - 1) / world) < 0.002, "%.100s", line);
    double off = 1 + 6 * (1 + model / median) / median;
    ck_assert_msg(fabs(error - 100 * (model - median) / median) < off, "%.100s", line);
}

/* How many rows; above the table of many hosts, if there is one. */
static size_t count_rows(const char *out, int world)
{
    size_t rows = 0;
    const char *end = strstr(out, "a ring all-reduce on many hosts");
    for (const char *line = out; line && (!end || line < end); line = strchr(line, '\n')) {
        double bytes;
        line += *line == '\n';
        if (sscanf(line, "[0] | %lf |", &bytes) != 1)
            continue;
        check_row(line, world);
        rows++;
    }
    return rows;
}

static const struct {
    int world;
    const char *transport, *title;
} benches[] = {
    {2, "tcp", "TCP on loopback"},
    {2, "unix", "Unix sockets"},
    {3, "tcp", "TCP on loopback"},
    {3, "unix", "Unix sockets"},
};
enum { BENCHES = sizeof benches / sizeof *benches };

static void check_said(const struct program *program, const char *words)
{
    ck_assert_msg(strstr(program->out, words) != NULL, "no '%s' in:\n%s", words, program->out);
}

static void check_title(const struct program *program, size_t row, const char *algorithm)
{
    char title[64];
    snprintf(title, sizeof title, "[0] %s all-reduce of floats, %d ranks on ", algorithm,
             benches[row].world);
    check_said(program, title);
}

/* Measures into FILE, then trains by FILE. */
START_TEST(all_algorithms_are_measured_and_the_choice_is_used)
{
    struct folder folder;
    struct program program;
    char arguments[256];
    struct lesson lesson = {2, benches[_i].world};
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--bench --bench-most 2000 --tuning t --transport %s",
             benches[_i].transport);
    lesson_run(&program, &folder, lesson, arguments);
    ck_assert_msg(program.code == 0, "%s", program.err);
    for (int algorithm = 0; algorithm < ALGORITHM_AUTO; algorithm++)
        check_title(&program, (size_t)_i, algorithm_name((enum algorithm)algorithm));
    ck_assert_uint_eq(count(program.out, benches[_i].title), ALGORITHM_AUTO);
    ck_assert_uint_eq(count(program.out, TITLES), ALGORITHM_AUTO);
    ck_assert_uint_eq(count_rows(program.out, lesson.world), 2 * ALGORITHM_AUTO);
    check_said(&program, "alpha ");
    check_said(&program, "fastest as measured: 4 bytes ");
    check_said(&program, "fastest as predicted: ");
    check_said(&program, "|  4096 |   512 |     1024 |");
    ck_assert_uint_eq(count(program.out, "what the model leaves out"), 1);
    check_said(&program, "the choice is in t");
    program_close(&program);
    snprintf(arguments, sizeof arguments, "--algorithm auto --tuning t --transport %s --steps 2",
             benches[_i].transport);
    lesson_ok(&folder, lesson, arguments);
    folder_close(&folder);
}
END_TEST

START_TEST(a_place_for_the_choice_is_refused_before_measuring)
{
    static const struct {
        const char *arguments, *said;
    } rows[] = {{"--bench --bench-most 4 --tuning none/t", "--tuning: cannot write none/t: "},
                {"--bench --bench-most 4 --tuning a.c", "--tuning: a.c exists and reads as no "}};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "a.c", "int main(void) { return 0; }\n");
    lesson_run(&program, &folder, (struct lesson){2, 2}, rows[_i].arguments);
    ck_assert_msg(program.code == 1 && strstr(program.err, rows[_i].said), "%d: %s", program.code,
                  program.err);
    ck_assert_ptr_null(strstr(program.out, TITLES));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(one_algorithm_asked_for_makes_one_table)
{
    static const char *const names[] = {"ring", "tree", "halving", "auto"};
    struct folder folder;
    struct program program;
    char arguments[256];
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--bench --bench-most 2000 --algorithm %s --transport %s",
             names[_i], benches[_i].transport);
    lesson_run(&program, &folder, (struct lesson){2, benches[_i].world}, arguments);
    ck_assert_msg(program.code == 0, "%s", program.err);
    check_title(&program, (size_t)_i, names[_i]);
    ck_assert_uint_eq(count(program.out, "bytes |"), 1);
    ck_assert_uint_eq(count(program.out, TITLES), 1);
    ck_assert_uint_eq(count_rows(program.out, benches[_i].world), 2);
    ck_assert_uint_eq(count(program.out, "[0] |"), 3); // and no table beside it
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(one_rank_alone_has_nothing_to_predict)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){2, 1}, "--bench --bench-most 2000");
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_uint_eq(count_rows(program.out, 1), 2 * ALGORITHM_AUTO);
    ck_assert_uint_eq(count(program.out, "floats, 1 rank on "), ALGORITHM_AUTO);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_tuning_file_chooses_in_every_lesson)
{
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "two",
                 "staircase tuning 1, world 2, transport tcp\nup to 64 direct\n"
                 "any ring\n");
    for (int number = 2; number <= 4; number++)
        lesson_ok(&folder, (struct lesson){number, 2}, "--algorithm auto --tuning two --steps 2");
    lesson_fails(&folder, (struct lesson){3, 3}, "--algorithm auto --tuning two --steps 2", 2,
                 "two is for 'world 2, transport tcp', this run is 'world 3, transport tcp'");
    lesson_fails(&folder, (struct lesson){2, 2}, "--algorithm auto --tuning none --steps 2", 2,
                 "cannot read none");
    lesson_write(&folder, "tree", "staircase tuning 1, world 2, transport tcp\nany tree\n");
    lesson_ok(&folder, (struct lesson){2, 2}, "--algorithm auto --tuning tree --steps 2");
    lesson_fails(&folder, (struct lesson){4, 2}, "--algorithm auto --tuning tree --steps 2", 2,
                 "tree names tree, and lesson 4 has ring and direct only");
    folder_close(&folder);
}
END_TEST

Suite *bench_suite(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("bench");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_ping_pong_takes_time_at_every_size, 2, 4);
    tcase_add_loop_test(tcase, the_built_in_choice_is_left_only_where_another_is_clearly_faster, 0,
                        CHOSEN);
    tcase_add_test(tcase, a_tuning_file_is_read_as_it_was_written);
    tcase_add_loop_test(tcase, a_tuning_file_that_is_not_right_is_refused_by_name, 0, REFUSED);
    tcase_add_test(tcase, a_tuning_file_that_cannot_be_written_or_read_is_named);
    tcase_add_test(tcase, only_a_tuning_file_may_be_replaced);
    tcase_add_test(tcase, what_is_no_file_is_not_replaced_and_what_is_not_there_is_tried);
    tcase_add_loop_test(tcase, a_place_for_the_choice_is_refused_before_measuring, 0, 2);
    tcase_add_loop_test(tcase, all_algorithms_are_measured_and_the_choice_is_used, 0, BENCHES);
    tcase_add_loop_test(tcase, one_algorithm_asked_for_makes_one_table, 0, BENCHES);
    tcase_add_test(tcase, one_rank_alone_has_nothing_to_predict);
    tcase_add_test(tcase, a_tuning_file_chooses_in_every_lesson);
    suite_add_tcase(suite, tcase);
    return suite;
}
