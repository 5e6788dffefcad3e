/* Start-up: late ranks, missing ones, duplicates, disagreeing ones, strangers, and ports. */
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_comm(struct ranks_self *self)
{
    return comm_open(&self->comm, &self->environment, &self->config, &self->fail) ? 1 : 0;
}

/* Opens, and shows that the ring stands. */
static int open_and_sum(struct ranks_self *self)
{
    float one = 1;
    if (open_comm(self) || ring_allreduce(self->comm, &one, &one, 1, COMM_F32, COMM_SUM))
        return 1;
    return ranks_expect(self, one == (float)self->world, "the sum is %g", (double)one);
}

static void assert_all_say(const struct ranks_result *result, int but, const char *words)
{
    for (int rank = 0; rank < result->world; rank++)
        if (rank != but) {
            ck_assert_msg(result->code[rank] == 1, "rank %d ended with %d", rank,
                          result->code[rank]);
            ck_assert_msg(strstr(result->text[rank], words) != NULL, "rank %d says: %s, not: %s",
                          rank, result->text[rank], words);
        }
}

/* --- who comes when -------------------------------------------------------------------------- */

static int late_body(struct ranks_self *self)
{
    ranks_pause(0.3 * (self->world - 1 - self->rank)); // 3, 2, 1, and 0 last
    return open_and_sum(self);
}

START_TEST(ranks_that_start_before_rank_0_wait_for_it)
{
    struct ranks_plan plan = {.world = 4, .body = late_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int absent_body(struct ranks_self *self)
{
    int absent = *(int *)self->context;
    return self->rank == absent ? 0 : open_comm(self);
}

START_TEST(a_missing_rank_is_named_to_all_at_the_deadline)
{
    int absent = 2;
    struct ranks_plan plan = {.world = 4,
                              .body = absent_body,
                              .context = &absent,
                              .unopened = true,
                              .timeout_seconds = 4};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, absent, "rank 2 of 4 has not come to 127.0.0.1:");
    ck_assert(result.seconds > 3.9 && result.seconds < 2 * plan.timeout_seconds);
}
END_TEST

START_TEST(a_missing_rank_0_is_named_with_its_address_and_progress_is_shown)
{
    int absent = 0;
    struct ranks_plan plan = {.world = 3,
                              .body = absent_body,
                              .context = &absent,
                              .unopened = true,
                              .timeout_seconds = 5.5};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, absent, "rank 0 is missing at 127.0.0.1:");
    ck_assert_ptr_ne(strstr(result.log[1], "rank 1 of 3 waits at 127.0.0.1:"), NULL);
    ck_assert(result.seconds > 5.4 && result.seconds < 2 * plan.timeout_seconds);
}
END_TEST

/* --- who comes wrong ------------------------------------------------------------------------- */

static int twice_body(struct ranks_self *self)
{
    if (self->rank == 2)
        self->environment.rank = 1;
    return open_comm(self);
}

START_TEST(a_rank_that_comes_twice_is_named_to_all_at_once)
{
    struct ranks_plan plan = {.world = 3, .body = twice_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, -1, "rank 1 twice, rank 2 missing");
}
END_TEST

static int twice_zero_body(struct ranks_self *self)
{
    self->environment.rank = 0;
    return open_comm(self);
}

START_TEST(two_ranks_0_learn_of_each_other)
{
    struct ranks_plan plan = {
        .world = 2, .body = twice_zero_body, .unopened = true, .unlaunched = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, -1, "rank 0 twice, rank 1 missing");
}
END_TEST

static int other_options_body(struct ranks_self *self)
{
    self->config.fingerprint = self->rank == 1 ? 0xbad : 0x600d;
    return open_comm(self);
}

START_TEST(other_options_on_one_rank_are_told_to_all)
{
    struct ranks_plan plan = {.world = 2, .body = other_options_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, -1, "rank 1 was started with other options or data than rank 0");
}
END_TEST

static int other_world_body(struct ranks_self *self)
{
    if (self->rank == 1)
        self->environment.world = 5;
    return open_comm(self);
}

START_TEST(another_world_size_on_one_rank_is_told_to_all)
{
    struct ranks_plan plan = {.world = 2, .body = other_world_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    assert_all_say(&result, -1, "rank 1 was started for 5 ranks, rank 0 for 2");
}
END_TEST

/* --- strangers ------------------------------------------------------------------------------- */

enum { CROWD = 60 }; // more than rank 0 has places for

static int knock(const struct ranks_self *self, const void *bytes, size_t size_bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)self->environment.master_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) { // not listening yet
        close(fd);
        ranks_pause(0.01);
        fd = socket(AF_INET, SOCK_STREAM, 0);
    }
    if (size_bytes > 0)
        send(fd, bytes, size_bytes, MSG_NOSIGNAL);
    return fd;
}

static void good_hello(const struct ranks_self *self, struct wire_hello *hello)
{
    *hello = (struct wire_hello){.purpose = WIRE_JOIN, .rank = 1, .world = 3, .port = 1};
    memcpy(hello->token, self->environment.token, sizeof hello->token);
}

/* Connections that stay; each looks a little more like a rank of this job. */
static void come_as_strangers(const struct ranks_self *self)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nand more than a hello";
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello;
    close(knock(self, NULL, 0)); // leaves at once
    knock(self, NULL, 0);        // stays silent
    knock(self, http, sizeof http - 1);

    good_hello(self, &hello);
    wire_put_hello(bytes, &hello);
    knock(self, bytes, WIRE_HELLO_BYTES / 2);        // half a hello, and waits
    close(knock(self, bytes, WIRE_HELLO_BYTES / 2)); // half a hello, and leaves
    bytes[4]++;
    knock(self, bytes, sizeof bytes); // another version

    hello.token[0] ^= 1;
    wire_put_hello(bytes, &hello);
    knock(self, bytes, sizeof bytes); // another job

    good_hello(self, &hello);
    hello.purpose = WIRE_LINK; // right in all but that links are made at another door
    wire_put_hello(bytes, &hello);
    knock(self, bytes, sizeof bytes);
}

static int visited_body(struct ranks_self *self)
{
    if (self->rank == 2) {
        come_as_strangers(self);
        for (int i = 0; i < CROWD; i++)
            knock(self, NULL, 0);
    }
    return open_and_sum(self);
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

START_TEST(strangers_take_no_place_and_few_lines)
{
    struct ranks_plan plan = {.world = 3, .body = visited_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    ck_assert_int_ge(lines_of(result.log[0]), 5);
    ck_assert_int_le(lines_of(result.log[0]), 20 + 1);
    ck_assert_ptr_ne(strstr(result.log[0], "dropped more connections"), NULL);
    ck_assert_ptr_ne(strstr(result.log[0], "it belongs to another job"), NULL);
    ck_assert_ptr_ne(strstr(result.log[0], "it came to the wrong door"), NULL);
}
END_TEST

/* --- who comes again -------------------------------------------------------------------------- */

/* What a process that was started as rank 1 does, before it ends. */
static int come_as_rank_1(const struct ranks_self *self)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello;
    good_hello(self, &hello);
    hello.world = (uint32_t)self->world;
    wire_put_hello(bytes, &hello);
    return knock(self, bytes, sizeof bytes);
}

/* Rank 1 has been started three times. Two of them end, before the last ranks come. */
static int again_and_again_body(struct ranks_self *self)
{
    int *pipe = self->context;
    char turn = 0;
    if (self->rank == 4) {
        int first = come_as_rank_1(self);
        ranks_pause(0.5); // by now the one that stays has come too, and stands
        close(come_as_rank_1(self));
        ranks_pause(0.1);
        close(first);
        ranks_pause(0.1);
        if (write(pipe[1], "23", 2) != 2)
            return 1;
    } else if (self->rank == 1) {
        ranks_pause(0.25);
    } else if (self->rank > 1 && read(pipe[0], &turn, 1) != 1) {
        return 1;
    }
    return open_and_sum(self);
}

START_TEST(a_rank_that_was_started_again_takes_the_place_of_one_that_left)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct ranks_plan plan = {
        .world = 5, .body = again_and_again_body, .context = ends, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    close(ends[0]);
    close(ends[1]);
    ranks_assert_ok(&result);
}
END_TEST

/* --- ports ----------------------------------------------------------------------------------- */

static int held_body(struct ranks_self *self)
{
    int port;
    int holder = ranks_bind(&port);
    listen(holder, 8);
    close(self->environment.rendezvous_fd);
    self->environment.rendezvous_fd = -1;
    self->environment.master_port = port;
    self->environment.world = 2;
    int code = open_comm(self);
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%d", port);
    return ranks_expect(self, code && strstr(self->fail.text, name), "not named: %s",
                        self->fail.text);
}

START_TEST(a_port_that_is_held_is_named_soon)
{
    struct ranks_plan plan = {.world = 1, .body = held_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* Another job is just meeting there: it leaves the port when rank 0 has knocked. */
static int lent_body(struct ranks_self *self)
{
    self->environment.rank = 1 - self->rank; // so that it is not rank 0 who holds the port
    if (self->environment.rank == 1) {
        int held = self->environment.rendezvous_fd;
        listen(held, 8);
        close(accept(held, NULL, NULL));
        close(held);
        self->environment.rendezvous_fd = -1;
    }
    return open_and_sum(self);
}

START_TEST(a_port_that_is_held_for_a_moment_is_waited_for)
{
    struct ranks_plan plan = {.world = 2, .body = lent_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int again_body(struct ranks_self *self)
{
    for (int run = 0; run < 20; run++) {
        if (open_and_sum(self))
            return 1;
        comm_close(self->comm);
        self->comm = NULL;
    }
    return 0;
}

START_TEST(runs_follow_each_other_on_one_port)
{
    struct ranks_plan plan = {.world = 3, .body = again_body, .unopened = true, .unlaunched = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

START_TEST(a_world_of_one_needs_no_socket)
{
    struct environment environment = {.world = 1, .rendezvous_fd = -1};
    struct comm_config config = {.timeout_seconds = 1};
    struct fail fail = {0};
    struct comm *comm;
    float in[2] = {1, 2}, out[2] = {0};
    ck_assert_int_eq(comm_open(&comm, &environment, &config, &fail), 0);
    ck_assert_int_eq(ring_allreduce(comm, in, out, 2, COMM_F32, COMM_SUM), 0);
    ck_assert_float_eq(out[1], 2);
    ck_assert_int_eq(ring_reduce_scatter(comm, out, 2, COMM_F32, COMM_SUM), 0);
    ck_assert_int_eq(ring_all_gather(comm, out, 2, COMM_F32), 0);
    ck_assert_int_eq(ring_broadcast(comm, out, 2, COMM_F32, 0), 0);
    ck_assert_int_eq(barrier(comm), 0);
    ck_assert_float_eq(out[0], 1);
    ck_assert_uint_eq(comm_bytes_sent(comm), 0);
    comm_close(comm);
    comm_close(NULL);
}
END_TEST

Suite *rendezvous_suite(void)
{
    Suite *suite = suite_create("rendezvous");
    TCase *tcase = tcase_create("start-up");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, ranks_that_start_before_rank_0_wait_for_it);
    tcase_add_test(tcase, a_missing_rank_is_named_to_all_at_the_deadline);
    tcase_add_test(tcase, a_missing_rank_0_is_named_with_its_address_and_progress_is_shown);
    tcase_add_test(tcase, a_rank_that_comes_twice_is_named_to_all_at_once);
    tcase_add_test(tcase, two_ranks_0_learn_of_each_other);
    tcase_add_test(tcase, other_options_on_one_rank_are_told_to_all);
    tcase_add_test(tcase, another_world_size_on_one_rank_is_told_to_all);
    tcase_add_test(tcase, strangers_take_no_place_and_few_lines);
    tcase_add_test(tcase, a_rank_that_was_started_again_takes_the_place_of_one_that_left);
    tcase_add_test(tcase, a_port_that_is_held_is_named_soon);
    tcase_add_test(tcase, a_port_that_is_held_for_a_moment_is_waited_for);
    tcase_add_test(tcase, runs_follow_each_other_on_one_port);
    tcase_add_test(tcase, a_world_of_one_needs_no_socket);
    suite_add_tcase(suite, tcase);
    return suite;
}
