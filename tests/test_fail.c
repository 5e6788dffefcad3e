/* A failure is one sentence, the first, and whatever it quotes it is fit to print. */
#include "common/fail.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <string.h>

START_TEST(the_first_failure_wins)
{
    struct fail fail = {0};
    ck_assert_int_eq(fail_set(&fail, -EIO, "the %s", "cause"), -EIO);
    ck_assert_int_eq(fail_set(&fail, -EINVAL, "a consequence"), -EIO);
    ck_assert_int_eq(fail.code, -EIO);
    ck_assert_str_eq(fail.text, "the cause");
}
END_TEST

/* Of a terminal: clear it, set its title, begin a line of your own. */
START_TEST(what_is_quoted_commands_no_terminal)
{
    struct fail fail = {0};
    fail_set(&fail, -EINVAL, "%s", "\033[2J\033]0;a\a\r\nrank 0: \tall is well\177 \xc3\xa9");
    ck_assert_str_eq(fail.text, "?[2J?]0;a???rank 0: ?all is well? \xc3\xa9");
}
END_TEST

START_TEST(a_long_sentence_is_cut)
{
    struct fail fail = {0};
    char text[2 * FAIL_TEXT_BYTES];
    memset(text, '\n', sizeof text);
    text[sizeof text - 1] = 0;
    fail_set(&fail, -EINVAL, "%s", text);
    ck_assert_uint_eq(strlen(fail.text), FAIL_TEXT_BYTES - 1);
    ck_assert_ptr_null(strchr(fail.text, '\n'));
}
END_TEST

Suite *fail_suite(void)
{
    Suite *suite = suite_create("fail");
    TCase *tcase = tcase_create("fail");
    tcase_add_test(tcase, the_first_failure_wins);
    tcase_add_test(tcase, what_is_quoted_commands_no_terminal);
    tcase_add_test(tcase, a_long_sentence_is_cut);
    suite_add_tcase(suite, tcase);
    return suite;
}
