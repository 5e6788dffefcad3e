/* What slowed links leave as it was: the bits, whose fault it is, and an idle processor. */
#include "common/clock.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/root.h"
#include "tests/lessons.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/sums.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct ranks_plan plan_of(const char *link, int world, ranks_body *body)
{
    struct ranks_plan plan = {.world = world, .body = body};
    struct fail fail = {0};
    ck_assert_msg(linkspec_read(&plan.link, link, &fail) == 0, "%s", fail.text);
    return plan;
}

/* Every rank but 1 ended with an error that says each of the words. */
static void assert_all_say(const struct ranks_result *result, const char *const *words)
{
    for (int rank = 0; rank < result->world; rank++)
        for (size_t i = 0; words[i] && rank != 1; i++)
            ck_assert_msg(result->code[rank] == 1 && strstr(result->text[rank], words[i]) != NULL,
                          "rank %d ended with %d and says: %s, not: %s", rank, result->code[rank],
                          result->text[rank], words[i]);
}

/* --- bits ---------------------------------------------------------------------------------------- */

static int sums_body(struct ranks_self *self)
{
    static const size_t counts[] = {1, 7, 2051, 50003};
    int wrong = 0;
    for (int algorithm = 0; algorithm < ALGORITHM_AUTO && !wrong; algorithm++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; i++) {
            size_t where;
            wrong = sums_allreduce(self->comm, (enum algorithm)algorithm, counts[i], &where);
            if (wrong > 0)
                ranks_expect(self, false, "%s of %zu: [%zu] differs",
                             algorithm_name((enum algorithm)algorithm), counts[i], where);
        }
    return wrong ? 1 : 0;
}

START_TEST(no_algorithm_changes_a_bit)
{
    struct ranks_plan plan =
        plan_of("400mbit,500us,jitter 500us,straggler 1", 2 + _i / 2, sums_body);
    struct ranks_result result;
    plan.transport = _i % 2 ? COMM_UNIX : COMM_TCP;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* A vector of several queues' size: each has to stop its sender. */
static int long_body(struct ranks_self *self)
{
    size_t where;
    int wrong = sums_allreduce(self->comm, ALGORITHM_ROOT, 2000003, &where);
    return wrong > 0 ? ranks_expect(self, false, "[%zu] differs", where) : wrong != 0;
}

START_TEST(what_is_longer_than_every_queue_arrives)
{
    struct ranks_plan plan = plan_of("2gbit,200us", 3, long_body);
    struct ranks_result result;
    plan.transport = _i ? COMM_UNIX : COMM_TCP;
    plan.socket_buffer_bytes = 4096;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- whose fault it is --------------------------------------------------------------------------- */

/* Rank 1 asks for another count, dies, or stops, when its first call's bytes are hardly out. */
static int faulty_body(struct ranks_self *self)
{
    int fault = *(int *)self->context;
    float data[1001] = {0};
    size_t count = 1000;
    int error = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    if (self->rank == 1 && fault)
        raise(fault);
    if (self->rank == 1)
        count++;
    if (!error)
        error = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    return error ? 1 : 0;
}

static const struct {
    int fault;
    const char *words[3];
} faults[] = {
    {0, {"all-reduce of 1000 f32", "all-reduce of 1001 f32"}},
    {SIGKILL, {"rank 1 closed the connection"}},
    {SIGSTOP, {"rank 1 has not joined for"}},
};
enum { FAULTS = sizeof faults / sizeof *faults };

START_TEST(all_ranks_name_the_culprit)
{
    struct ranks_plan plan = plan_of("100mbit,60ms", 4, faulty_body);
    struct ranks_result result;
    int fault = faults[_i].fault;
    plan.context = &fault;
    plan.stops = fault == SIGSTOP;
    if (plan.stops)
        plan.timeout_seconds = 3;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, faults[_i].words);
}
END_TEST

/* Rank 1 has gone, and its last words are still under way, when rank 0's write to it fails. What rank
 * 2 has sent before is under way as well, and must not keep them back. */
static int quitting_body(struct ranks_self *self)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_RING, COMM_F32, COMM_SUM, 1000};
    float data[1000] = {0};
    static const long naps_ns[] = {60000000, 30000000, 0};
    int error = barrier(self->comm);
    nanosleep(&(struct timespec){.tv_nsec = naps_ns[self->rank]}, NULL);
    if (self->rank == 1)
        return error || comm_begin(self->comm, &call) ? 1 : 0; // and closes in the middle
    error = error || ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    return error ? 1 : 0;
}

START_TEST(last_words_come_before_the_write_that_failed)
{
    static const char *const words[] = {"rank 1 left in the middle of this call", NULL};
    struct ranks_plan plan = plan_of("100mbit,300ms", 3, quitting_body);
    struct ranks_result result;
    plan.transport = COMM_UNIX; // a write to a closed one fails at once
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, words);
}
END_TEST

/* Rank 0 waits through two latencies, each longer than the timeout. */
static int far_body(struct ranks_self *self)
{
    float data[10] = {0};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    double begun = clock_seconds();
    int error = root_allreduce(self->comm, data, data, 10, COMM_F32, COMM_SUM);
    double seconds = clock_seconds() - begun;
    getrusage(RUSAGE_SELF, &after);
    double busy = (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec -
                           before.ru_stime.tv_sec) +
                  1e-6 * (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec -
                                  before.ru_utime.tv_usec - before.ru_stime.tv_usec);
    if (error)
        return 1;
    return ranks_expect(self, busy < 0.05 * seconds, "busy for %.3f of %.3f s", busy, seconds);
}

START_TEST(a_long_way_is_no_silence_and_costs_no_processor)
{
    struct ranks_plan plan = plan_of("100mbit,2500ms", 2, far_body);
    struct ranks_result result;
    plan.timeout_seconds = 2;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- the end ------------------------------------------------------------------------------------- */

/* Rank 0 has left long before its last words come. */
static int leaving_body(struct ranks_self *self)
{
    float data[30000] = {0};
    for (int i = 0; i < 30000 && self->rank == 0; i++)
        data[i] = (float)i;
    int wrong = ring_broadcast(self->comm, data, 30000, COMM_F32, 0);
    for (int i = 0; i < 30000 && !wrong; i++)
        wrong = ranks_expect(self, data[i] == (float)i, "[%d] is %g", i, (double)data[i]);
    return wrong ? 1 : 0;
}

START_TEST(whoever_leaves_at_once_is_heard_to_the_end)
{
    struct ranks_plan plan = plan_of("20mbit,200ms", 3, leaving_body);
    struct ranks_result result;
    plan.transport = _i ? COMM_UNIX : COMM_TCP;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    ck_assert_double_ge(result.seconds, 2 * 0.2 + 30000 * sizeof(float) / 2.5e6);
}
END_TEST

/* --- the programs -------------------------------------------------------------------------------- */

START_TEST(every_lesson_computes_the_same_on_slowed_links)
{
    static const char dump[] = "--steps 3 --batch 60 --dump-steps 3 --dump ";
    struct lesson lesson = {2 + _i, 3};
    struct folder folder;
    char slowed[160], plain[80];
    snprintf(plain, sizeof plain, "%splain", dump);
    snprintf(slowed, sizeof slowed,
             "%sslowed --link \"1gbit,300us,jitter 300us,straggler 2\" --transport unix", dump);
    folder_open(&folder);
    ck_assert_uint_gt(lesson_ok(&folder, lesson, slowed), 0);
    lesson_ok(&folder, lesson, plain);
    lesson_dumps_equal(&folder, "plain slowed");
    folder_close(&folder);
}
END_TEST

static const struct {
    const char *arguments, *says;
} refused[] = {
    {"--link 100mbit", "--link: expected a latency"},
    {"--link 100mbit,2ms,\"straggler 3\"", "straggler 3 is none of the ranks, which are 0 to 2"},
};

START_TEST(a_link_that_cannot_be_is_refused)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){2, 3}, refused[_i].arguments, 2, refused[_i].says);
    folder_close(&folder);
}
END_TEST

/* Without a launcher, but for its variables: two ranks, of which one is on this machine. */
START_TEST(a_link_between_machines_is_refused)
{
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path,
                "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 "
                "MASTER_PORT=1 \"${LAUNCH%launch}lesson02_allreduce\" --link 1gbit,1ms");
    ck_assert_int_eq(program.code, 2);
    ck_assert_msg(strstr(program.err, "slowed links need one clock"), "%s", program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *slowed_suite(void)
{
    Suite *suite = suite_create("slowed");
    TCase *tcase = tcase_create("slowed");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, no_algorithm_changes_a_bit, 0, 6);
    tcase_add_loop_test(tcase, what_is_longer_than_every_queue_arrives, 0, 2);
    tcase_add_loop_test(tcase, all_ranks_name_the_culprit, 0, FAULTS);
    tcase_add_test(tcase, last_words_come_before_the_write_that_failed);
    tcase_add_test(tcase, a_long_way_is_no_silence_and_costs_no_processor);
    tcase_add_loop_test(tcase, whoever_leaves_at_once_is_heard_to_the_end, 0, 2);
    tcase_add_loop_test(tcase, every_lesson_computes_the_same_on_slowed_links, 0, 3);
    tcase_add_loop_test(tcase, a_link_that_cannot_be_is_refused, 0, 2);
    tcase_add_test(tcase, a_link_between_machines_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
