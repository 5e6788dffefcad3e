/* Plot: the loss in letters, from one update to a million, with and without numbers to draw. */
#include "common/plot.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char axis[] =
    "          +----------------------------------------------------------------\n";

static char *drawn(const struct plot *plot, enum plot_letters letters)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    plot_draw(plot, letters, out);
    fclose(out);
    return text;
}

static void expect(const struct plot *plot, enum plot_letters letters, const char *golden)
{
    char *text = drawn(plot, letters);
    ck_assert_str_eq(text, golden);
    free(text);
}

/* 2, 1 and so on down a straight line: on an axis of its own, or of its logarithms. */
static void descend(struct plot *plot, bool halving)
{
    *plot = (struct plot){0};
    for (size_t i = 0; i < 16; i++)
        plot_train(plot, i, halving ? ldexp(1, -(int)i) : 16 - (double)i);
    plot_test(plot, 15, halving ? 1 : 16);
}

static const char *const straight[] = {
    "loss by updates; o: on the test set\n"
    "       16 |**                                                             o\n"
    "          |  ****\n"
    "          |      *****\n"
    "          |           ****\n"
    "          |               ****\n"
    "       11 |                   ****\n"
    "          |                       ****\n"
    "          |                           *****\n"
    "          |                                ****\n"
    "          |                                    ****\n"
    "        6 |                                        ****\n"
    "          |                                            ****\n"
    "          |                                                *****\n"
    "          |                                                     ****\n"
    "          |                                                         ****\n"
    "        1 |                                                             ***\n"
    "          +----------------------------------------------------------------\n"
    "           update 0                                                      15\n",
    "loss by updates, logarithmic; o: on the test set\n"
    "        1 |**                                                             o\n"
    "          |  ****\n"
    "          |      *****\n"
    "          |           ****\n"
    "          |               ****\n"
    "   0.0313 |                   ****\n"
    "          |                       ****\n"
    "          |                           *****\n"
    "          |                                ****\n"
    "          |                                    ****\n"
    " 0.000977 |                                        ****\n"
    "          |                                            ****\n"
    "          |                                                *****\n"
    "          |                                                     ****\n"
    "          |                                                         ****\n"
    " 3.05e-05 |                                                             ***\n"
    "          +----------------------------------------------------------------\n"
    "           update 0                                                      15\n",
};

START_TEST(the_axis_is_logarithmic_where_that_helps)
{
    struct plot plot;
    descend(&plot, _i == 1);
    expect(&plot, PLOT_ASCII, straight[_i]);
}
END_TEST

START_TEST(braille_has_eight_dots_a_letter)
{
    static const char start[] =
        "loss by updates; o: on the test set\n"
        "       16 \xe2\x94\x82\xe2\xa0\x91\xe2\xa0\xa2\xe2\xa2\x84\xe2\xa1\x80 ";
    struct plot plot;
    descend(&plot, false);
    char *text = drawn(&plot, PLOT_UTF8);
    ck_assert_mem_eq(text, start, sizeof start - 1);
    free(text);
}
END_TEST

START_TEST(one_update_is_a_point_in_the_middle)
{
    struct plot plot = {0};
    plot_train(&plot, 7, 2);
    static const char rows[] =
        "loss by updates\n      2.2 |\n          |\n          |\n          |\n"
        "          |\n     2.07 |\n          |\n          |\n"
        "          |                                *\n          |\n"
        "     1.93 |\n          |\n          |\n          |\n          |\n"
        "      1.8 |\n";
    char golden[1024];
    snprintf(golden, sizeof golden, "%s%s%39supdate 7\n", rows, axis, "");
    expect(&plot, PLOT_ASCII, golden);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_breaks_the_curve_and_is_marked)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e308};
    struct plot plot = {0};
    for (size_t i = 0; i < 64; i++)
        plot_train(&plot, i, i >= 20 && i < 30 ? bad[_i] : 1);
    plot_test(&plot, 63, bad[_i]);
    char *text = drawn(&plot, PLOT_ASCII);
    ck_assert_ptr_nonnull(strstr(text, "loss by updates; x: not finite\n"
                                       "      1.1 |                    xxxxxxxxxx\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "|********************          **********************************\n"));
    free(text);
}
END_TEST

START_TEST(without_any_finite_loss_there_is_no_number)
{
    struct plot plot = {0};
    plot_train(&plot, 0, NAN);
    char *text = drawn(&plot, PLOT_ASCII);
    ck_assert_ptr_nonnull(strstr(text, "|                                x\n"));
    ck_assert_ptr_null(strpbrk(text, "123456789"));
    free(text);
}
END_TEST

START_TEST(without_any_update_nothing_is_drawn)
{
    struct plot plot = {0};
    plot_test(&plot, 0, 1);
    expect(&plot, PLOT_ASCII, "");
}
END_TEST

/* 1 and 3 in turn: whatever is left out, a mean of pairs is 2. */
START_TEST(a_million_updates_are_drawn_as_means_of_all)
{
    struct plot plot = {0};
    for (size_t i = 0; i < 1000000; i++)
        plot_train(&plot, 100 + i, i % 2 ? 3 : 1);
    char *text = drawn(&plot, PLOT_ASCII);
    ck_assert_ptr_nonnull(strstr(text, "loss by updates, means of 4096\n      2.2 |\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "|****************************************************************\n"));
    ck_assert_ptr_nonnull(strstr(
        text, "           update 100                                               1000099\n"));
    free(text);
}
END_TEST

static const struct {
    const char *environment;
    bool utf8;
} locales[] = {
    {"LC_ALL=C LC_CTYPE=C.UTF-8 LANG=C.UTF-8", false},
    {"LC_ALL= LC_CTYPE=C.utf8 LANG=C", true},
    {"LC_ALL= LC_CTYPE= LANG=de_DE.UTF-8", true},
    {"LC_ALL= LC_CTYPE= LANG=", false},
};

/* The last update of an epoch has a test loss. The rank that prints draws, and no other. */
START_TEST(a_run_draws_its_loss_once_in_the_letters_of_the_locale)
{
    struct folder folder;
    struct program program;
    char command[512];
    folder_open(&folder);
    snprintf(command, sizeof command,
             "%s $LAUNCH -n 2 ${LAUNCH%%launch}lesson02_allreduce --hidden 9 --steps 25 --plot",
             locales[_i].environment);
    program_run(&program, folder.path, command);
    ck_assert_int_eq(program.code, 0);
    const char *title = strstr(program.out, "[0] loss by updates");
    ck_assert_ptr_nonnull(title);
    ck_assert_ptr_eq(strstr(program.out, "loss by updates"), title + strlen("[0] "));
    ck_assert_ptr_null(strstr(title + 10, "loss by updates"));
    ck_assert_ptr_nonnull(strstr(title, "; o: on the test set\n"));
    ck_assert((strstr(title, "\xe2\x94\x82") != NULL) == locales[_i].utf8);
    ck_assert_ptr_nonnull(strstr(title, "update 0 "));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_run_that_fails_draws_how_far_it_came)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){1, 1},
               "--hidden 9,9,9,9 --lr 1e6 --no-verify --plot");
    ck_assert_int_eq(program.code, 1);
    ck_assert_ptr_nonnull(strstr(program.out, "loss by updates"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_quiet_run_draws_nothing)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){1, 1}, "--hidden 9 --steps 3 --plot --quiet");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_null(strstr(program.out, "loss by updates"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *plot_suite(void)
{
    Suite *suite = suite_create("plot");
    TCase *tcase = tcase_create("plot");
    tcase_add_loop_test(tcase, the_axis_is_logarithmic_where_that_helps, 0, 2);
    tcase_add_test(tcase, braille_has_eight_dots_a_letter);
    tcase_add_test(tcase, one_update_is_a_point_in_the_middle);
    tcase_add_loop_test(tcase, a_loss_that_is_not_finite_breaks_the_curve_and_is_marked, 0, 4);
    tcase_add_test(tcase, without_any_finite_loss_there_is_no_number);
    tcase_add_test(tcase, without_any_update_nothing_is_drawn);
    tcase_add_test(tcase, a_million_updates_are_drawn_as_means_of_all);
    tcase_add_loop_test(tcase, a_run_draws_its_loss_once_in_the_letters_of_the_locale, 0,
                        sizeof locales / sizeof *locales);
    tcase_add_test(tcase, a_run_that_fails_draws_how_far_it_came);
    tcase_add_test(tcase, a_quiet_run_draws_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
