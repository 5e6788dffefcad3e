/* Under strain: sockets that hold almost nothing, and signals that interrupt every call. The sums
 * keep their bits. */
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/watched.h"
#include "tests/sums.h"

#include <check.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

/* Floats; bytes. Watched, it takes a hundred times as long: then less passes. */
enum { MEBIBYTE = 1 << (WATCHED ? 16 : 18), NARROW_BYTES = 4096 };

struct strain {
    size_t count;
    const enum algorithm *algorithms; // ends with AUTO
    int rounds;
};

static const enum algorithm all[] = {ALGORITHM_RING,    ALGORITHM_ROOT,   ALGORITHM_TREE,
                                     ALGORITHM_HALVING, ALGORITHM_DIRECT, ALGORITHM_AUTO};
static const enum algorithm longest[] = {ALGORITHM_RING, ALGORITHM_DIRECT, ALGORITHM_AUTO};

static int reduce_with_each(struct ranks_self *self)
{
    const struct strain *strain = self->context;
    for (int round = 0; round < strain->rounds; round++)
        for (const enum algorithm *one = strain->algorithms; *one != ALGORITHM_AUTO; one++) {
            size_t where, count = strain->count + (size_t)round;
            int wrong = sums_allreduce(self->comm, *one, count, &where);
            if (wrong < 0)
                return 1;
            if (ranks_expect(self, !wrong, "%s, round %d: [%zu] differs", algorithm_name(*one),
                             round, where))
                return 1;
        }
    return 0;
}

/* Which world and transport the test's number means. */
static struct ranks_plan plan_of(int number)
{
    static const int worlds[] = {2, 3, 5};
    return (struct ranks_plan){.world = worlds[number / 2],
                               .transport = number % 2 ? COMM_UNIX : COMM_TCP};
}

static void strain_narrow(int number, struct strain strain)
{
    struct ranks_plan plan = plan_of(number);
    struct ranks_result result;
    plan.body = reduce_with_each;
    plan.context = &strain;
    plan.socket_buffer_bytes = NARROW_BYTES;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}

START_TEST(sockets_of_four_kibibytes_stop_no_algorithm)
{
    strain_narrow(_i, (struct strain){MEBIBYTE + 5, all, 1});
}
END_TEST

START_TEST(sockets_of_four_kibibytes_carry_a_long_vector)
{
    strain_narrow(_i, (struct strain){(WATCHED ? 4 : 16) * MEBIBYTE, longest, 1});
}
END_TEST

/* Of this process: a rank is forked, so each has its own. */
static atomic_int alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

/* No SA_RESTART: what the signal meets returns EINTR. */
static int reduce_in_a_storm(struct ranks_self *self)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval often = {{.tv_usec = 1000}, {.tv_usec = 1000}}, never = {{0}, {0}};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int wrong = reduce_with_each(self);
    setitimer(ITIMER_REAL, &never, NULL);
    return wrong ? wrong : ranks_expect(self, alarms > 10, "only %d signals came", alarms);
}

START_TEST(a_storm_of_signals_changes_no_bit)
{
    struct strain strain = {MEBIBYTE / 4, all, 6};
    struct ranks_plan plan = plan_of(_i);
    struct ranks_result result;
    plan.body = reduce_in_a_storm;
    plan.context = &strain;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *narrow_suite(void)
{
    Suite *suite = suite_create("narrow");
    TCase *tcase = tcase_create("narrow");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, sockets_of_four_kibibytes_stop_no_algorithm, 0, 6);
    tcase_add_loop_test(tcase, sockets_of_four_kibibytes_carry_a_long_vector, 0, 6);
    tcase_add_loop_test(tcase, a_storm_of_signals_changes_no_bit, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
