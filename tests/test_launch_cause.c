/* Of several ranks that ended, the right one is named, in whatever order they were seen. */
#include "common/launch_cause.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <string.h>

enum { RANKS = 3, MANY = 100, SIGNALED = 9 };

/* What waitpid reports. */
static int exited(int code)
{
    return code << 8;
}

static struct launch_end end_of(int rank, int status, size_t order)
{
    return (struct launch_end){.rank = rank, .ended = true, .status = status, .order = order};
}

static const struct {
    int codes[RANKS]; // or -signal
    size_t orders[RANKS];
    bool stopped[RANKS];
    size_t cause;
    int code;
} table[] = {
    {{0, 0, 0}, {0, 1, 2}, {0}, RANKS, 0},
    {{0, 7, 0}, {0, 1, 2}, {0}, 1, 7},
    {{1, 1, 7}, {2, 1, 0}, {0}, 2, 7},                           // the first one seen
    {{1, 1, -SIGNALED}, {0, 1, 2}, {0}, 2, 137},                 // a signal, though seen last
    {{-15, -SIGNALED, 1}, {2, 1, 0}, {0}, 1, 137},               // of two signals, the first
    {{-SIGNALED, 7, -15}, {2, 0, 1}, {true, false, true}, 1, 7}, // signals that were ours
    {{-SIGNALED, -15, 1}, {0, 1, 2}, {true, true, true}, RANKS, 0},
    {{0, 1, 1}, {0, 1, 2}, {0}, 1, 1},
};
enum { ROWS = sizeof table / sizeof *table };

START_TEST(signals_come_first_then_the_order_of_the_ends)
{
    struct launch_end ends[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        int code = table[_i].codes[rank];
        ends[rank] = end_of(rank, code < 0 ? -code : exited(code), table[_i].orders[rank]);
        ends[rank].stopped = table[_i].stopped[rank];
    }
    size_t cause = launch_cause_find(ends, RANKS);
    ck_assert_uint_eq(cause, table[_i].cause);
    if (cause < RANKS)
        ck_assert_int_eq(launch_cause_code(&ends[cause]), table[_i].code);
}
END_TEST

START_TEST(a_rank_that_may_have_left_too_early_is_named_too)
{
    char text[LAUNCH_CAUSE_TEXT_BYTES];
    struct launch_end ends[RANKS] = {end_of(0, exited(1), 1), end_of(1, exited(0), 0),
                                     end_of(2, exited(0), 2)};
    launch_cause_tell(ends, RANKS, 0, text);
    ck_assert_str_eq(text, "launch: first cause: rank 0 exited with code 1; rank 1 had left before "
                           "with code 0, maybe too early\n");
    ends[0].status = exited(7); // its own, not that of a lost peer
    launch_cause_tell(ends, RANKS, 0, text);
    ck_assert_str_eq(text, "launch: first cause: rank 0 exited with code 7\n");
}
END_TEST

START_TEST(a_rank_that_a_signal_held_is_named_too)
{
    char text[LAUNCH_CAUSE_TEXT_BYTES];
    struct launch_end ends[RANKS] = {end_of(0, exited(1), 0), end_of(1, SIGNALED, 1),
                                     end_of(2, exited(1), 2)};
    ends[1].stopped = true;
    ends[1].halted = SIGSTOP;
    launch_cause_tell(ends, RANKS, 0, text);
    ck_assert_msg(strstr(text, "rank 0 exited with code 1; rank 1 was held by signal") != NULL,
                  "%s", text);
    ends[0].status = exited(7); // its own
    launch_cause_tell(ends, RANKS, 0, text);
    ck_assert_ptr_null(strstr(text, "held"));
}
END_TEST

START_TEST(many_consequences_are_counted)
{
    char text[LAUNCH_CAUSE_TEXT_BYTES];
    struct launch_end ends[MANY];
    for (int rank = 0; rank < MANY; rank++)
        ends[rank] = end_of(rank, exited(1), (size_t)rank);
    launch_cause_tell(ends, MANY, 0, text);
    const char *rest = ", and so on for 91 more\n";
    ck_assert_str_eq(text + strlen(text) - strlen(rest), rest);
}
END_TEST

Suite *launch_cause_suite(void)
{
    Suite *suite = suite_create("launch_cause");
    TCase *tcase = tcase_create("launch_cause");
    tcase_add_loop_test(tcase, signals_come_first_then_the_order_of_the_ends, 0, ROWS);
    tcase_add_test(tcase, a_rank_that_may_have_left_too_early_is_named_too);
    tcase_add_test(tcase, a_rank_that_a_signal_held_is_named_too);
    tcase_add_test(tcase, many_consequences_are_counted);
    suite_add_tcase(suite, tcase);
    return suite;
}
