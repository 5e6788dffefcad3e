/* What --link accepts, and what each refusal says. */
#include "common/linkspec.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <string.h>

static const struct {
    const char *text;
    struct linkspec spec;
} accepted[] = {
    {"100mbit,2ms", {12.5e6, 2e-3, 0, -1}},
    {"1kbit,0us", {125, 0, 0, -1}},
    {"10gbit,50ms", {1.25e9, 50e-3, 0, -1}},
    {"8000bit,60s", {1000, 60, 0, -1}},
    {"2.5mbit,500us,jitter 500us", {312500, 5e-4, 5e-4, -1}},
    {"100mbit,2ms,straggler 3", {12.5e6, 2e-3, 0, 3}},
    {"100mbit,2ms,jitter 1ms,straggler 0", {12.5e6, 2e-3, 1e-3, 0}},
    {" 100mbit , 2ms , straggler  12 , jitter 0.5ms ", {12.5e6, 2e-3, 5e-4, 12}},
};
enum { ACCEPTED = sizeof accepted / sizeof *accepted };

static void check_near(double found, double expected)
{
    ck_assert_double_le(found, expected * (1 + 1e-12));
    ck_assert_double_ge(found, expected * (1 - 1e-12));
}

START_TEST(a_link_is_read_as_it_is_written)
{
    struct linkspec spec;
    struct fail fail = {0};
    int error = linkspec_read(&spec, accepted[_i].text, &fail);
    ck_assert_msg(error == 0, "%s: %s", accepted[_i].text, fail.text);
    check_near(spec.bytes_per_second, accepted[_i].spec.bytes_per_second);
    check_near(spec.latency_seconds, accepted[_i].spec.latency_seconds);
    check_near(spec.jitter_seconds, accepted[_i].spec.jitter_seconds);
    ck_assert_int_eq(spec.straggler, accepted[_i].spec.straggler);
}
END_TEST

static const struct {
    const char *text, *says;
} refused[] = {
    {"", "a rate from 1kbit to 10gbit first"},
    {"100", "a rate from 1kbit to 10gbit first"},
    {"mbit,2ms", "found 'mbit'"},
    {"100MB,2ms", "found '100MB'"},
    {"100 mbit,2ms", "found '100 mbit'"},
    {"-1mbit,2ms", "found '-1mbit'"},
    {"nanmbit,2ms", "found 'nanmbit'"},
    {"999bit,2ms", "found '999bit'"},
    {"11gbit,2ms", "found '11gbit'"},
    {"2ms,100mbit", "found '2ms'"},
    {"100mbit", "a latency from 0us to 60s behind the rate"},
    {"100mbit", "found 'nothing'"},
    {"100mbit,", "found ''"},
    {"100mbit,2", "found '2'"},
    {"100mbit,-2ms", "found '-2ms'"},
    {"100mbit,61s", "found '61s'"},
    {"100mbit,jitter 1ms", "found 'jitter 1ms'"},
    {"100mbit,2ms,jitter 3ms", "a jitter of at most the latency"},
    {"100mbit,2ms,jitter -1ms", "found '-1ms'"},
    {"100mbit,2ms,jitter", "found 'jitter'"},
    {"100mbit,2ms,jitter 1ms,jitter 1ms", "each once; found 'jitter 1ms'"},
    {"100mbit,2ms,straggler -1", "the number of a rank"},
    {"100mbit,2ms,straggler x", "found 'x'"},
    {"100mbit,2ms,straggler 1,straggler 2", "each once; found 'straggler 2'"},
    {"100mbit,2ms,", "found ''"},
    {"100mbit,2ms,loss 1", "found 'loss 1'"},
    {"100mbit,2ms,jitter1ms", "found 'jitter1ms'"},
    {"10gbit,1s", "1250000000 bytes under way"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(a_bad_link_is_refused_in_one_sentence)
{
    struct linkspec spec;
    struct fail fail = {0};
    ck_assert_int_eq(linkspec_read(&spec, refused[_i].text, &fail), -EINVAL);
    ck_assert_msg(strncmp(fail.text, "--link: ", 8) == 0 && strstr(fail.text, refused[_i].says),
                  "'%s' was refused by: %s", refused[_i].text, fail.text);
}
END_TEST

START_TEST(a_term_of_any_length_is_refused)
{
    char text[4096];
    struct linkspec spec;
    struct fail fail = {0};
    memset(text, '1', sizeof text);
    memcpy(text + sizeof text - 5, "mbit", 5);
    ck_assert_int_eq(linkspec_read(&spec, text, &fail), -EINVAL);
}
END_TEST

Suite *linkspec_suite(void)
{
    Suite *suite = suite_create("linkspec");
    TCase *tcase = tcase_create("linkspec");
    tcase_add_loop_test(tcase, a_link_is_read_as_it_is_written, 0, ACCEPTED);
    tcase_add_loop_test(tcase, a_bad_link_is_refused_in_one_sentence, 0, REFUSED);
    tcase_add_test(tcase, a_term_of_any_length_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
