/* The communicator when things go wrong: disagreement, death, departure, silence; and a clean
 * end. */
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/tree.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every rank but `but` ended with an error of its own accord, and says each of the words. */
static void assert_all_say(const struct ranks_result *result, int but, const char *const *words)
{
    for (int rank = 0; rank < result->world; rank++) {
        if (rank == but)
            continue;
        ck_assert_msg(result->code[rank] == 1, "rank %d ended with %d: %s", rank,
                      result->code[rank], result->text[rank]);
        for (size_t i = 0; words[i]; i++)
            ck_assert_msg(strstr(result->text[rank], words[i]) != NULL, "rank %d says: %s, not: %s",
                          rank, result->text[rank], words[i]);
    }
}

/* --- ranks that disagree --------------------------------------------------------------------- */

enum verb { ALLREDUCE, MAXIMUM, BY_TREE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, BARRIER };

struct one_call {
    enum verb verb;
    size_t count;
    enum comm_type type;
    uint32_t tag;
};

static int make_call(struct comm *comm, const struct one_call *call, void *data)
{
    comm_tag(comm, call->tag);
    if (call->verb == ALLREDUCE)
        return ring_allreduce(comm, data, data, call->count, call->type, COMM_SUM);
    if (call->verb == MAXIMUM)
        return ring_allreduce(comm, data, data, call->count, call->type, COMM_MAX);
    if (call->verb == BY_TREE)
        return tree_allreduce(comm, data, data, call->count, call->type, COMM_SUM);
    if (call->verb == REDUCE_SCATTER)
        return ring_reduce_scatter(comm, data, call->count, call->type, COMM_SUM);
    if (call->verb == ALL_GATHER)
        return ring_all_gather(comm, data, call->count, call->type);
    if (call->verb == BROADCAST)
        return ring_broadcast(comm, data, call->count, call->type, 0);
    return barrier(comm);
}

/* What rank 1 calls, what all others call, and how each is to be described. */
static const struct disagreement {
    struct one_call odd, rest;
    const char *words[3];
} disagreements[] = {
    {{ALLREDUCE, 3, COMM_F32, 0},
     {ALLREDUCE, 5, COMM_F32, 0},
     {"all-reduce of 3 f32", "all-reduce of 5 f32"}},
    {{ALLREDUCE, 300000, COMM_F32, 0},
     {ALLREDUCE, 500000, COMM_F32, 0},
     {"all-reduce of 300000 f32", "all-reduce of 500000 f32"}},
    {{ALLREDUCE, 0, COMM_F32, 0},
     {ALLREDUCE, 1, COMM_F32, 0},
     {"call 3: direct barrier", "call 2: ring all-reduce of 1 f32"}},
    {{ALLREDUCE, 200, COMM_F64, 0}, // the same bytes
     {ALLREDUCE, 400, COMM_F32, 0},
     {"all-reduce of 200 f64", "all-reduce of 400 f32"}},
    {{REDUCE_SCATTER, 400, COMM_F32, 0},
     {ALL_GATHER, 400, COMM_F32, 0},
     {"reduce-scatter of 400 f32", "all-gather of 400 f32"}},
    {{BARRIER, 0, COMM_I64, 0}, {ALLREDUCE, 1, COMM_F32, 0}, {"barrier", "all-reduce of 1 f32"}},
    {{BROADCAST, 400, COMM_F32, 0}, {ALL_GATHER, 400, COMM_F32, 0}, {"broadcast of 400 f32"}},
    {{ALLREDUCE, 400, COMM_F32, 8}, // another tensor of the same size
     {ALLREDUCE, 400, COMM_F32, 9},
     {"all-reduce of 400 f32 (sum, tag 8)", "all-reduce of 400 f32 (sum, tag 9)"}},
    {{MAXIMUM, 400, COMM_F32, 0},
     {ALLREDUCE, 400, COMM_F32, 0},
     {"ring all-reduce of 400 f32 (max,", "ring all-reduce of 400 f32 (sum,"}},
    {{BY_TREE, 400, COMM_F32, 0},
     {ALLREDUCE, 400, COMM_F32, 0},
     {"tree all-reduce of 400 f32", "ring all-reduce of 400 f32"}},
};

static int disagree_body(struct ranks_self *self)
{
    const struct disagreement *disagreement = self->context;
    double *data = calloc(500000, sizeof *data);
    int error = barrier(self->comm);
    if (!error)
        error =
            make_call(self->comm, self->rank == 1 ? &disagreement->odd : &disagreement->rest, data);
    if (!error)
        error = barrier(self->comm);
    int again = barrier(self->comm); // dead is dead, and says the same
    free(data);
    return ranks_expect(self, again == error, "%d, then %d", error, again) ? 2 : error != 0;
}

START_TEST(ranks_that_disagree_all_fail_at_once_with_both_descriptions)
{
    struct ranks_result result;
    struct disagreement disagreement = disagreements[_i];
    ranks_run(3, disagree_body, &disagreement, &result);
    assert_all_say(&result, -1, disagreement.words);
}
END_TEST

/* --- death and departure --------------------------------------------------------------------- */

static void *kill_soon(void *unused)
{
    (void)unused;
    ranks_pause(0.15);
    raise(SIGKILL);
    return NULL;
}

static int reduce_for_ever(struct ranks_self *self, size_t count)
{
    float *data = calloc(count, sizeof *data);
    int error = 0;
    while (!error)
        error = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    free(data);
    return 1;
}

static int killed_body(struct ranks_self *self)
{
    pthread_t thread;
    if (self->rank == 1)
        pthread_create(&thread, NULL, kill_soon, NULL);
    return reduce_for_ever(self, *(size_t *)self->context);
}

START_TEST(every_survivor_of_a_kill_names_the_killed_rank)
{
    static const char *const words[] = {"rank 1 closed the connection", NULL};
    size_t counts[] = {4000000, 1000, 1};
    struct ranks_result result;
    ranks_run(4, killed_body, &counts[_i], &result);
    ck_assert_int_eq(result.code[1], 128 + SIGKILL);
    assert_all_say(&result, 1, words);
}
END_TEST

/* Until so many others have said that they were told. */
static void stay_busy(const int *told, int others)
{
    char byte;
    for (int i = 0; i < others; i++)
        if (read(told[0], &byte, 1) != 1)
            _exit(3);
}

static void say_told(const int *told)
{
    if (write(told[1], "!", 1) != 1)
        _exit(3);
}

struct busy {
    int rank, told[2]; // a pipe
};

/* A rank is busy elsewhere when its neighbour dies: it is told as soon as it listens, and the
 * others do not wait for it to be told themselves. */
static int busy_body(struct ranks_self *self)
{
    const struct busy *busy = self->context;
    float data[100] = {0};
    int error = ring_allreduce(self->comm, data, data, 100, COMM_F32, COMM_SUM);
    if (self->rank == 1)
        raise(SIGKILL);
    if (self->rank == busy->rank)
        stay_busy(busy->told, self->world - 2);
    for (int i = 0; i < 2 && !error; i++)
        error = ring_allreduce(self->comm, data, data, 100, COMM_F32, COMM_SUM);
    if (self->rank != busy->rank)
        say_told(busy->told);
    return error ? 1 : 0;
}

START_TEST(a_rank_that_was_busy_names_the_killed_rank_too)
{
    static const char *const words[] = {"rank 1 closed the connection", NULL};
    struct ranks_result result;
    struct busy busy = {.rank = _i};
    ck_assert_int_eq(pipe(busy.told), 0);
    ranks_run(4, busy_body, &busy, &result);
    assert_all_say(&result, 1, words);
    close(busy.told[0]);
    close(busy.told[1]);
}
END_TEST

static int leaving_body(struct ranks_self *self)
{
    float data[1000] = {0};
    int error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    if (self->rank == 1)
        return 0; // and closes its communicator, in good order
    if (!error)
        error = make_call(self->comm, self->context, data);
    if (!error) // the root of a broadcast hears from nobody
        error = barrier(self->comm);
    return error ? 1 : 0;
}

START_TEST(to_leave_politely_before_the_others_are_done_is_an_error)
{
    static const char *const words[] = {"rank 1 ", NULL};
    static const struct one_call calls[] = {
        {ALLREDUCE, 1000, COMM_F32, 0}, {BROADCAST, 1000, COMM_F32, 0}, {BARRIER, 0, COMM_I64, 0}};
    struct one_call call = calls[_i];
    struct ranks_result result;
    ranks_run(4, leaving_body, &call, &result);
    ck_assert_int_eq(result.code[1], 0);
    assert_all_say(&result, 1, words);
}
END_TEST

/* The root has left, its right neighbour is busy: the end of the chain sees it, and tells. */
static int rootless_body(struct ranks_self *self)
{
    float data[100] = {0};
    int error = barrier(self->comm);
    if (self->rank == 1)
        return 0;
    if (self->rank == 2)
        stay_busy(self->context, 2);
    if (!error)
        error = ring_broadcast(self->comm, data, 100, COMM_F32, 1);
    if (self->rank != 2)
        say_told(self->context);
    return error ? 1 : 0;
}

START_TEST(a_goodbye_before_its_time_is_noticed_by_whoever_hears_it)
{
    static const char *const words[] = {"rank 1 ", NULL};
    struct ranks_result result;
    int told[2];
    ck_assert_int_eq(pipe(told), 0);
    ranks_run(4, rootless_body, told, &result);
    assert_all_say(&result, 1, words);
    close(told[0]);
    close(told[1]);
}
END_TEST

static int quitting_body(struct ranks_self *self)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_RING, COMM_F32, COMM_SUM, 1000};
    float data[1000] = {0};
    if (self->rank == 1)
        return comm_begin(self->comm, &call) ? 1 : 0; // and closes in the middle
    return ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM) ? 1 : 0;
}

START_TEST(a_rank_that_gives_up_in_the_middle_of_a_call_says_so_to_all)
{
    static const char *const words[] = {"rank 1 left in the middle of this call", NULL};
    struct ranks_result result;
    ranks_run(4, quitting_body, NULL, &result);
    assert_all_say(&result, 1, words);
}
END_TEST

/* --- silence --------------------------------------------------------------------------------- */

static int stopped_body(struct ranks_self *self)
{
    float data[1000] = {0};
    int error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    if (self->rank == 1)
        raise(SIGSTOP);
    if (!error)
        error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    return error ? 1 : 0;
}

START_TEST(a_rank_that_stops_for_good_is_an_error_at_the_deadline)
{
    static const char *const words[] = {"call 2: ring all-reduce of 1000 f32",
                                        "rank 1 has not joined for ", NULL};
    struct ranks_plan plan = {.world = 4, .body = stopped_body, .timeout_seconds = 3, .stops = 1};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ck_assert_int_eq(result.code[1], RANKS_TIMED_OUT);
    assert_all_say(&result, 1, words);
    ck_assert(result.seconds > 2.9);
}
END_TEST

/* Rank 0 is a call ahead of rank 2, which began to wait later, but for the one that stopped. */
static int ahead_body(struct ranks_self *self)
{
    struct comm_call call = {COMM_BROADCAST, ALGORITHM_RING, COMM_F32, COMM_SUM, 1};
    float number = 0;
    if (self->rank == 1)
        raise(SIGSTOP);
    int error = comm_begin(self->comm, &call);
    if (self->rank == 0)
        comm_receive(self->comm, 2, &number, 1, COMM_STORE);
    else
        comm_send(self->comm, 0, &number, 1);
    error = error || comm_wait(self->comm) ||
            (self->rank == 0 && (comm_end(self->comm) || comm_begin(self->comm, &call)));
    if (self->rank == 2)
        ranks_pause(0.3);
    comm_receive(self->comm, self->rank == 0 ? 2 : 1, &number, 1, COMM_STORE);
    return error || comm_wait(self->comm) ? 1 : 0;
}

START_TEST(a_neighbour_that_waits_in_an_earlier_call_is_not_blamed)
{
    static const char *const words[] = {"rank 2, call 1: ring broadcast of 1 f32",
                                        "rank 1 has not joined for", NULL};
    struct ranks_plan plan = {.world = 3, .body = ahead_body, .timeout_seconds = 4, .stops = 1};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, 1, words);
}
END_TEST

/* Each takes its right neighbour for the root, and so waits for its left one. */
static int circle_body(struct ranks_self *self)
{
    float data[10] = {0};
    int root = (self->rank + 1) % self->world;
    return ring_broadcast(self->comm, data, 10, COMM_F32, root) ? 1 : 0;
}

START_TEST(ranks_that_wait_for_each_other_all_end_at_the_deadline)
{
    static const char *const words[] = {"which waits itself, has not joined for", NULL};
    struct ranks_plan plan = {.world = 3, .body = circle_body, .timeout_seconds = 3};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, -1, words);
}
END_TEST

static int resumed_body(struct ranks_self *self)
{
    float data[1000] = {0};
    int error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    if (self->rank == 1) {
        pid_t stopped = getpid(), waker = fork();
        if (waker == 0) {
            while (getppid() == stopped) { // again, where it was called before it had stopped
                ranks_pause(1);
                kill(stopped, SIGCONT);
            }
            _exit(0);
        }
        raise(SIGSTOP);
        kill(waker, SIGKILL);
        waitpid(waker, NULL, 0);
    }
    if (!error)
        error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    return error ? 1 : 0;
}

START_TEST(a_rank_that_stops_for_a_while_is_waited_for)
{
    struct ranks_plan plan = {.world = 3, .body = resumed_body};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    ck_assert(result.seconds > 0.9);
}
END_TEST

/* --- and when all is well -------------------------------------------------------------------- */

static int large_body(struct ranks_self *self)
{
    size_t count = 4 << 20; // 16 MiB
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(self->rank + 1) * (float)(i % 1024);
    int wrong = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    float factor = (float)(self->world * (self->world + 1)) / 2;
    for (size_t i = 0; i < count && !wrong; i++)
        wrong = ranks_expect(self, data[i] == factor * (float)(i % 1024), "[%zu] is %g", i,
                             (double)data[i]);
    free(data);
    return wrong ? 1 : 0;
}

START_TEST(full_socket_buffers_do_not_stop_the_ring)
{
    static const int worlds[] = {2, 3, 5};
    struct ranks_plan plan = {.world = worlds[_i], .body = large_body, .socket_buffer_bytes = 4096};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int clean_body(struct ranks_self *self)
{
    float data[1000] = {0};
    int error = 0;
    for (int step = 0; step < 2 && !error; step++)
        error = ring_allreduce(self->comm, data, data, 1000, COMM_F32, COMM_SUM);
    unsigned seed = *(unsigned *)self->context + (unsigned)self->rank;
    ranks_pause(rand_r(&seed) % 200 / 1000.0);
    return error ? 1 : 0;
}

START_TEST(a_clean_finish_is_quiet)
{
    unsigned seed = (unsigned)_i * 100;
    struct ranks_result result;
    ranks_run(4, clean_body, &seed, &result);
    ranks_assert_ok(&result);
    for (int rank = 0; rank < 4; rank++) {
        ck_assert_str_eq(result.text[rank], "");
        ck_assert_msg(ranks_quiet(result.log[rank]), "rank %d: expected nothing, found: %s", rank,
                      result.log[rank]);
    }
}
END_TEST

START_TEST(a_stranger_is_no_noise)
{
    ck_assert(ranks_quiet(""));
    ck_assert(
        ranks_quiet("rank 0: dropped a connection from 127.0.0.1:1: it said nothing\n"
                    "rank 0: dropped a connection from 127.0.0.1:1: it belongs to another job\n"));
    ck_assert(!ranks_quiet("rank 0: dropped a connection from 127.0.0.1:1: it said nothing\n"
                           "rank 0 lost its connection to rank 1\n"));
}
END_TEST

/* The last call is a broadcast: the root is done, and gone, while the others still receive. */
static int early_root_body(struct ranks_self *self)
{
    size_t count = 1 << 20;
    float *data = calloc(count, sizeof *data);
    data[count - 1] = self->rank == 0 ? 7 : 0;
    int wrong = ring_broadcast(self->comm, data, count, COMM_F32, 0);
    if (!wrong)
        wrong = ranks_expect(self, data[count - 1] == 7, "the last is %g", (double)data[count - 1]);
    free(data);
    return wrong ? 1 : 0;
}

START_TEST(a_rank_may_leave_while_others_receive_its_last_bytes)
{
    struct ranks_plan plan = {.world = 4, .body = early_root_body, .socket_buffer_bytes = 8192};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *comm_suite(void)
{
    Suite *suite = suite_create("comm");
    TCase *wrong = tcase_create("failure");
    tcase_set_timeout(wrong, 120);
    tcase_add_loop_test(wrong, ranks_that_disagree_all_fail_at_once_with_both_descriptions, 0,
                        sizeof disagreements / sizeof *disagreements);
    tcase_add_loop_test(wrong, every_survivor_of_a_kill_names_the_killed_rank, 0, 3);
    tcase_add_loop_test(wrong, a_rank_that_was_busy_names_the_killed_rank_too, 2, 4);
    tcase_add_loop_test(wrong, a_rank_that_was_busy_names_the_killed_rank_too, 0, 1);
    tcase_add_loop_test(wrong, to_leave_politely_before_the_others_are_done_is_an_error, 0, 3);
    tcase_add_test(wrong, a_goodbye_before_its_time_is_noticed_by_whoever_hears_it);
    tcase_add_test(wrong, a_rank_that_gives_up_in_the_middle_of_a_call_says_so_to_all);
    tcase_add_loop_test(wrong, a_rank_that_stops_for_good_is_an_error_at_the_deadline, 0, 2);
    tcase_add_test(wrong, a_neighbour_that_waits_in_an_earlier_call_is_not_blamed);
    tcase_add_test(wrong, ranks_that_wait_for_each_other_all_end_at_the_deadline);
    tcase_add_test(wrong, a_rank_that_stops_for_a_while_is_waited_for);
    suite_add_tcase(suite, wrong);
    TCase *well = tcase_create("success");
    tcase_set_timeout(well, 120);
    tcase_add_loop_test(well, full_socket_buffers_do_not_stop_the_ring, 0, 3);
    tcase_add_loop_test(well, a_clean_finish_is_quiet, 0, 20);
    tcase_add_test(well, a_stranger_is_no_noise);
    tcase_add_test(well, a_rank_may_leave_while_others_receive_its_last_bytes);
    suite_add_tcase(suite, well);
    return suite;
}
