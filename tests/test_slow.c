/*
 * Slowed links: as slow as was asked, never faster, and the same bits.
 *
 * "Never faster" is held in every try, on any machine. "No slower, within 10 %" is held for the best
 * of several tries, less the time in which the machine kept somebody waiting for a processor (Linux
 * counts it): it may have other work. A sanitized program is let off lightly.
 */
#include "common/clock.h"
#include "common/rng.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/collective.h"
#include "lesson02_allreduce/costmodel.h"
#include "lesson02_allreduce/gather.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 20, PING_PONGS = 10 };

static const double WITHIN = WATCHED ? 3 : 1.1;

/* Seconds so far in which some process of this machine was ready to run and was not; 0 where that is
 * not counted. */
static double pressed_seconds(void)
{
    double microseconds = 0;
    FILE *file = fopen("/proc/pressure/cpu", "r");
    if (!file)
        return 0;
    if (fscanf(file, "some %*s %*s %*s total=%lf", &microseconds) != 1)
        microseconds = 0;
    fclose(file);
    return 1e-6 * microseconds;
}

/* --- what is timed: begun by all ranks together, seconds from the first start to the last end ---- */

struct timed {
    int (*run)(struct ranks_self *self, float *data, const struct timed *timed);
    enum algorithm algorithm;
    size_t count; // floats
    double least; // seconds it must take
    double most;  // and may take, on a machine that is not busy
};

static int run_allreduce(struct ranks_self *self, float *data, const struct timed *timed)
{
    struct choice choice = choice_fixed(timed->algorithm);
    comm_set_choice(self->comm, &choice);
    return allreduce(self->comm, data, data, timed->count, COMM_F32, COMM_SUM);
}

/* From rank 0 to rank 1, as one message. */
static int run_one_way(struct ranks_self *self, float *data, const struct timed *timed)
{
    struct comm_call call = {COMM_BROADCAST, ALGORITHM_DIRECT, COMM_F32, COMM_SUM, timed->count};
    struct collective all;
    int error = collective_begin(&all, self->comm, &call, data);
    if (!error && self->rank == 0)
        comm_send(self->comm, 1, data, timed->count);
    else if (!error)
        comm_receive(self->comm, 0, data, timed->count, COMM_STORE);
    return collective_end(&all, error ? error : comm_wait(self->comm));
}

/* There and back, several times. */
static int run_ping_pong(struct ranks_self *self, float *data, const struct timed *timed)
{
    struct comm_call call = {COMM_BROADCAST, ALGORITHM_DIRECT, COMM_F32, COMM_SUM, timed->count};
    struct collective all;
    int error = collective_begin(&all, self->comm, &call, data);
    for (int i = 0; i < 2 * PING_PONGS && !error; i++) {
        if (i % 2 == self->rank)
            comm_send(self->comm, 1 - self->rank, data, timed->count);
        else
            comm_receive(self->comm, 1 - self->rank, data, timed->count, COMM_STORE);
        error = comm_wait(self->comm);
    }
    return collective_end(&all, error);
}

/* The first start to the last end; and the last start to the last end, less the pressure. All ranks
 * come to the same numbers, and so try equally often. */
static int time_once(struct ranks_self *self, float *data, double *longest, double *shortest)
{
    const struct timed *timed = self->context;
    double mine[3], all[RANKS_MOST][3] = {{0}};
    int error = barrier(self->comm);
    double pressed = pressed_seconds();
    mine[0] = clock_seconds();
    if (!error)
        error = timed->run(self, data, timed);
    mine[1] = clock_seconds();
    mine[2] = pressed_seconds() - pressed;
    if (!error)
        error = gather_numbers(self->comm, mine, 3, all[0], &self->fail);
    double first = INFINITY, last = 0, end = 0;
    for (int rank = 0; rank < self->world && !error; rank++) {
        first = fmin(first, all[rank][0]);
        last = fmax(last, all[rank][0]);
        end = fmax(end, all[rank][1]);
    }
    *longest = end - first;
    *shortest = end - last - all[0][2];
    return error;
}

static int timed_body(struct ranks_self *self)
{
    const struct timed *timed = self->context;
    float *data = calloc(timed->count + 1, sizeof *data);
    double longest, shortest, best = INFINITY;
    int wrong = 0;
    for (int i = 0; i < TRIES && best > timed->most * WITHIN && !wrong; i++) {
        wrong = time_once(self, data, &longest, &shortest);
        best = fmin(best, shortest);
        if (!wrong)
            wrong = ranks_expect(self, longest >= timed->least, "took %.3f ms, less than %.3f",
                                 1e3 * longest, 1e3 * timed->least);
    }
    free(data);
    if (!wrong)
        wrong = ranks_expect(self, best <= timed->most * WITHIN,
                             "took %.3f ms at best, and should take %.3f", 1e3 * best,
                             1e3 * timed->most);
    return wrong ? 1 : 0;
}

static void check_timed(int world, enum comm_transport transport, const struct linkspec *link,
                        struct timed *timed)
{
    struct ranks_plan plan = {.world = world,
                              .body = timed_body,
                              .context = timed,
                              .transport = transport,
                              .link = *link};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}

static struct linkspec link_of(const char *text)
{
    struct linkspec spec;
    struct fail fail = {0};
    ck_assert_msg(linkspec_read(&spec, text, &fail) == 0, "%s", fail.text);
    return spec;
}

static double alpha_beta(const struct linkspec *link, double bytes)
{
    return link->latency_seconds + bytes / link->bytes_per_second;
}

/* --- the tests ---------------------------------------------------------------------------------- */

START_TEST(a_ping_pong_takes_the_latency)
{
    static const char *const links[] = {"100mbit,2ms", "100mbit,10ms", "1gbit,500us"};
    struct linkspec link = link_of(links[_i / 2]);
    double seconds = 2 * PING_PONGS * alpha_beta(&link, sizeof(float));
    struct timed timed = {run_ping_pong, ALGORITHM_AUTO, 1, seconds, seconds};
    check_timed(2, _i % 2 ? COMM_UNIX : COMM_TCP, &link, &timed);
}
END_TEST

START_TEST(a_long_message_takes_its_bytes_at_the_rate)
{
    static const struct {
        const char *link;
        size_t count;
        double slower;
    } links[] = {{"100mbit,2ms", 750000, 1},
                 {"20mbit,2ms", 150000, 1},
                 {"1gbit,10ms", 7500000, 1},
                 {"40mbit,500us,straggler 1", 6250, LINKSPEC_STRAGGLER_SHARE}};
    struct linkspec link = link_of(links[_i / 2].link);
    double bytes = sizeof(float) * (double)links[_i / 2].count;
    double seconds = alpha_beta(&link, bytes * links[_i / 2].slower);
    struct timed timed = {run_one_way, ALGORITHM_AUTO, links[_i / 2].count, seconds, seconds};
    check_timed(2, _i % 2 ? COMM_UNIX : COMM_TCP, &link, &timed);
}
END_TEST

/* What the model says, which knows nothing of ranks that disturb each other (halving with 3 ranks).
 * A straggler's port takes four times as long, and the ring waits for it in every round. */
static const struct row {
    enum algorithm algorithm;
    int world;
    const char *link;
    double slower; // than with all ports alike
    size_t count;  // floats; 0: COUNT
} rows[] = {
    {ALGORITHM_RING, 2, "100mbit,2ms", 1, 0},
    {ALGORITHM_RING, 4, "100mbit,2ms", 1, 0},
    {ALGORITHM_ROOT, 2, "100mbit,2ms", 1, 0},
    {ALGORITHM_ROOT, 4, "100mbit,2ms", 1, 0},
    {ALGORITHM_TREE, 4, "100mbit,2ms", 1, 0},
    {ALGORITHM_HALVING, 4, "100mbit,2ms", 1, 0},
    {ALGORITHM_DIRECT, 4, "100mbit,2ms", 1, 0},
    {ALGORITHM_RING, 2, "1gbit,10ms", 1, 1000000}, // more is under way than a head start
    {ALGORITHM_RING, 2, "400mbit,500us,straggler 1", LINKSPEC_STRAGGLER_SHARE, 0},
    {ALGORITHM_RING, 4, "400mbit,500us,straggler 2", LINKSPEC_STRAGGLER_SHARE, 0},
    {ALGORITHM_ROOT, 3, "400mbit,500us,straggler 0", LINKSPEC_STRAGGLER_SHARE, 0},
};
enum { ROWS = sizeof rows / sizeof *rows, COUNT = 120000 };

START_TEST(an_all_reduce_takes_what_the_model_says)
{
    const struct row *row = &rows[_i / 2];
    struct linkspec link = link_of(row->link);
    struct cost_link model = {.beta_seconds = row->slower / link.bytes_per_second};
    size_t count = row->count ? row->count : COUNT, bytes = count * sizeof(float);
    struct timed timed = {run_allreduce, row->algorithm, count, 0, 0};
    if (row->slower == 1)
        model.alpha_seconds = link.latency_seconds;
    timed.least = costmodel_predict(&model, row->algorithm, row->world, bytes);
    model.alpha_seconds = link.latency_seconds;
    timed.most = costmodel_predict(&model, row->algorithm, row->world, bytes);
    check_timed(row->world, _i % 2 ? COMM_UNIX : COMM_TCP, &link, &timed);
}
END_TEST

/* By how much of the jitter packet `index` from this rank's peer, or to it, comes late. */
static double draw(const struct ranks_self *self, int from, uint64_t index)
{
    struct rng rng = {.seed = self->config.seed,
                      .stream = RNG_LINK,
                      .sub = (uint32_t)(from * self->world + 1 - from)};
    return 2 * (double)rng_uniform(&rng, index) - 1;
}

/* Each message takes the latency and its own draw: packet 0 is the barrier's. */
static int jitter_body(struct ranks_self *self)
{
    struct timed timed = {.count = 1};
    const struct linkspec *link = &self->config.link;
    float data = 0;
    double best = INFINITY;
    int wrong = barrier(self->comm);
    uint64_t packet = 1;
    for (int i = 0; i < TRIES && !wrong; i++) {
        double asked = 0, pressed = pressed_seconds(), begun = clock_seconds();
        wrong = run_ping_pong(self, &data, &timed);
        double took = clock_seconds() - begun;
        pressed = pressed_seconds() - pressed;
        for (int k = 0; k < PING_PONGS; k++, packet++)
            asked += 2 * link->latency_seconds +
                     (draw(self, 0, packet) + draw(self, 1, packet)) * link->jitter_seconds;
        best = fmin(best, (took - pressed) / asked);
        if (!wrong && self->rank == 0) // the other one begins when the first message has come
            wrong = ranks_expect(self, took >= asked, "took %.3f ms, less than %.3f", 1e3 * took,
                                 1e3 * asked);
    }
    return wrong || ranks_expect(self, best <= WITHIN, "took %.2f times as long", best);
}

START_TEST(jitter_makes_each_message_as_late_as_was_drawn)
{
    struct ranks_plan plan = {
        .world = 2, .body = jitter_body, .link = link_of("100mbit,4ms,jitter 4ms")};
    struct ranks_result result;
    plan.transport = _i ? COMM_UNIX : COMM_TCP;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- a rank that is not there when the bytes come ------------------------------------------------ */

/* Rank 0's message has the time it left; rank 1 is busy meanwhile, and finds it. */
static int late_body(struct ranks_self *self)
{
    double left = clock_seconds(), waited[2] = {INFINITY, INFINITY}, best = INFINITY;
    int wrong = 0;
    for (int i = 0; i < TRIES && fmax(waited[0], waited[1]) > 0.02 * WITHIN && !wrong; i++) {
        if (self->rank == 1)
            nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
        double pressed = pressed_seconds(), begun = clock_seconds();
        wrong = ring_broadcast(self->comm, &left, 1, COMM_F64, 0);
        best = fmin(best, clock_seconds() - begun - (pressed_seconds() - pressed));
        if (!wrong)
            wrong = gather_numbers(self->comm, &best, 1, waited, &self->fail);
    }
    return wrong || ranks_expect(self, best <= 0.02 * WITHIN, "waited %.3f ms", 1e3 * best);
}

START_TEST(what_came_in_the_meantime_is_there_at_once)
{
    struct ranks_plan plan = {.world = 2, .body = late_body, .link = link_of("100mbit,100ms")};
    struct ranks_result result;
    plan.transport = _i ? COMM_UNIX : COMM_TCP;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *slow_suite(void)
{
    Suite *suite = suite_create("slow");
    TCase *tcase = tcase_create("slow");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_ping_pong_takes_the_latency, 0, 6);
    tcase_add_loop_test(tcase, a_long_message_takes_its_bytes_at_the_rate, 0, 8);
    tcase_add_loop_test(tcase, an_all_reduce_takes_what_the_model_says, 0, 2 * ROWS);
    tcase_add_loop_test(tcase, jitter_makes_each_message_as_late_as_was_drawn, 0, 2);
    tcase_add_loop_test(tcase, what_came_in_the_meantime_is_there_at_once, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
