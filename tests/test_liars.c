/* Liars among a job's ranks: who links up twice, or never, or says what cannot be. Nobody is fooled, no
 * memory is taken, and the one who lied is named. */
#include "lesson02_allreduce/address.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/unwelcome.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORLD = UNWELCOME_WORLD, COUNT = 5003, PATIENCE_MS = 60000 };

/* --- a rank that links up twice -------------------------------------------------------------- */

static int connect_to(const struct sockaddr_storage *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 6000; i++) {
        if (connect(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_in)) == 0)
            return fd;
        ranks_pause(0.01);
    }
    close(fd);
    return -1;
}

static int introduce(const struct sockaddr_storage *address, const struct wire_hello *hello)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    int fd = connect_to(address);
    wire_put_hello(bytes, hello);
    send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    return fd;
}

/* Joins by hand, as rank 1 that listens at `port`. Where rank 0 listens for links goes to *side. */
static int join(const struct ranks_self *self, int port, struct sockaddr_storage *side)
{
    uint8_t answer[WIRE_REPLY_BYTES + WORLD * WIRE_ADDRESS_BYTES];
    struct wire_hello hello = unwelcome_hello(self, WIRE_JOIN, 1);
    struct wire_address address;
    hello.port = (uint32_t)port;
    address_parse(side, "127.0.0.1", self->environment.master_port);
    int fd = introduce(side, &hello);
    ssize_t got = recv(fd, answer, sizeof answer, MSG_WAITALL);
    close(fd);
    if (got != (ssize_t)sizeof answer || wire_get_address(&address, answer + WIRE_REPLY_BYTES))
        return -1;
    address_set_port(side, address.port);
    return 0;
}

/* Rank 2 calls rank 0, then here. Then somebody calls rank 0 as rank 2 again. */
static int link_twice(struct ranks_self *self, int listener, const struct sockaddr_storage *side,
                      int fds[WORLD])
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello two = unwelcome_hello(self, WIRE_LINK, 2),
                      one = unwelcome_hello(self, WIRE_LINK, 1);
    char byte;
    fds[2] = accept(listener, NULL, NULL);
    if (recv(fds[2], bytes, sizeof bytes, MSG_WAITALL) != (ssize_t)sizeof bytes)
        return 1;
    int again = introduce(side, &two);
    struct pollfd end = {.fd = again, .events = POLLIN};
    bool dropped = poll(&end, 1, PATIENCE_MS) == 1 && recv(again, &byte, 1, MSG_DONTWAIT) <= 0;
    close(again);
    fds[0] = introduce(side, &one);
    return ranks_expect(self, dropped, "the second rank 2 was let in");
}

static int by_hand_body(struct ranks_self *self)
{
    struct sockaddr_storage side;
    int port, listener, fds[WORLD] = {-1, -1, -1};
    if (self->rank != 1)
        return comm_open(&self->comm, &self->environment, &self->config, &self->fail) != 0 ||
               unwelcome_sums(self);
    listener = ranks_bind(&port);
    listen(listener, 4);
    int wrong = join(self, port, &side) || link_twice(self, listener, &side, fds);
    close(listener);
    return wrong ||
           comm_adopt(&self->comm, &self->environment, &self->config, fds, &self->fail) != 0 ||
           unwelcome_sums(self);
}

START_TEST(a_rank_that_links_up_twice_is_let_in_once)
{
    struct ranks_plan plan = {.world = WORLD, .body = by_hand_body, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    ck_assert_ptr_nonnull(strstr(result.log[0], "a rank of its number has linked up already"));
}
END_TEST

/* --- liars ----------------------------------------------------------------------------------- */

/* What rank 1 sends instead of its part of an all-reduce, or while it is sent a broadcast. */
static const struct lie {
    struct wire_frame frame;
    bool hangs_up; // in the middle of the broadcast
    const char *words;
} lies[] = {
    {{WIRE_DATA, {0, 0, COMM_U8, 0, 1ULL << 63}, 0, 0, 1, 1ULL << 63},
     false,
     "rank 1, call 1: ring reduce-scatter of 9223372036854775808 u8 (sum, tag 0), step 0 sends "
     "9223372036854775808 bytes"},
    {{WIRE_DATA, {COMM_ALLREDUCE, 0, COMM_F32, 0, COUNT}, 0, 0, 1, 1ULL << 63},
     false,
     "rank 1 sent bytes that are no frame"},
    {{WIRE_ABORT, {0}, 0, 0, 1, 1ULL << 63}, false, "rank 1 sent bytes that are no frame"},
    {{WIRE_LEAVE, {0}, 0, 0, 1, 1ULL << 63}, false, "rank 1 sent bytes that are no frame"},
    {{WIRE_DATA, {0, 0, COMM_U8, 0, 1ULL << 63}, 0, 0, 1, 1ULL << 63},
     true,
     "rank 1 closed the connection"},
    // with its header, as many bytes as 64 bits have numbers: none
    {{WIRE_DATA, {0, 0, COMM_U8, 0, UINT64_MAX}, 0, 0, 1, UINT64_MAX - WIRE_FRAME_BYTES + 1},
     true,
     "rank 1 closed the connection"},
};
enum { LIES = sizeof lies / sizeof *lies };

struct lying {
    struct lie lie;
    int ends[2]; // the link
};

/* The test holds a copy of the socket: it is not closed by this rank's end. */
static void tell(const struct lie *lie, int fd)
{
    uint8_t bytes[WIRE_FRAME_BYTES];
    wire_put_frame(bytes, &lie->frame);
    send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    if (!lie->hangs_up)
        return;
    ranks_pause(0.2); // by then the broadcast has filled the socket
    shutdown(fd, SHUT_RDWR);
}

static int hear_lie_body(struct ranks_self *self)
{
    const struct lying *lying = self->context;
    size_t count = lying->lie.hangs_up ? 1 << 20 : COUNT;
    int fds[2] = {-1, lying->ends[0]};
    if (self->rank == 1) {
        tell(&lying->lie, lying->ends[1]);
        return 0;
    }
    float *data = calloc(count, sizeof *data);
    memset(data, 0, count * sizeof *data);
    long before = unwelcome_peak_kb();
    int error = comm_adopt(&self->comm, &self->environment, &self->config, fds, &self->fail);
    if (!error && lying->lie.hangs_up)
        error = ring_broadcast(self->comm, data, count, COMM_F32, 0);
    else if (!error)
        error = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    long grown = unwelcome_peak_kb() - before;
    free(data);
    return ranks_expect(self, grown < UNWELCOME_GROWTH_MOST_KB, "%ld KiB more", grown) ? 2
                                                                                       : error != 0;
}

START_TEST(a_length_that_cannot_be_is_an_error_and_no_memory)
{
    struct lying lying = {.lie = lies[_i]};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, lying.ends), 0);
    struct ranks_plan plan = {
        .world = 2, .body = hear_lie_body, .context = &lying, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    close(lying.ends[0]);
    close(lying.ends[1]);
    ck_assert_msg(result.code[0] == 1, "rank 0 ended with %d: %s", result.code[0], result.text[0]);
    ck_assert_msg(strstr(result.text[0], lies[_i].words) != NULL, "rank 0 says: %s",
                  result.text[0]);
}
END_TEST

/* Rank 1 joins, and links up with nobody. Rank 2 has reached both others and waits in its first call,
 * for rank 0, which waits for rank 1 until its own deadline. */
static int unlinked_body(struct ranks_self *self)
{
    const int *told = self->context; // a pipe: who has given up says so to rank 1
    struct sockaddr_storage side;
    int port, wrong;
    char byte;
    if (self->rank != 1) {
        wrong = comm_open(&self->comm, &self->environment, &self->config, &self->fail) != 0 ||
                unwelcome_sums(self);
        return write(told[1], "!", 1) != 1 || wrong;
    }
    int listener = ranks_bind(&port);
    listen(listener, 4);
    wrong = join(self, port, &side);
    for (int i = 0; i < WORLD - 1 && !wrong; i++)
        wrong = read(told[0], &byte, 1) != 1;
    close(listener);
    return wrong;
}

START_TEST(a_rank_that_never_links_up_is_named_by_those_that_have)
{
    int told[2];
    ck_assert_int_eq(pipe(told), 0);
    struct ranks_plan plan = {.world = WORLD,
                              .body = unlinked_body,
                              .context = told,
                              .unopened = true,
                              .timeout_seconds = 3};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    close(told[0]);
    close(told[1]);
    ck_assert_int_eq(result.code[1], 0);
    ck_assert_ptr_nonnull(strstr(result.text[0], "rank 1 had joined, but has not linked up"));
    ck_assert_msg(strstr(result.text[2], "rank 1 had joined, but has not linked up") != NULL, "%s",
                  result.text[2]);
}
END_TEST

Suite *liars_suite(void)
{
    Suite *suite = suite_create("liars");
    TCase *tcase = tcase_create("liars");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_rank_that_links_up_twice_is_let_in_once);
    tcase_add_loop_test(tcase, a_length_that_cannot_be_is_an_error_and_no_memory, 0, LIES);
    tcase_add_test(tcase, a_rank_that_never_links_up_is_named_by_those_that_have);
    suite_add_tcase(suite, tcase);
    return suite;
}
