/* A stream is not messages: two ranks with a relay in between that cuts and glues as it likes. */
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 301, LARGE = 100003, ODD_SIZES = 7 };

/* What the relay passes on at once: single bytes, odd sizes, or many messages glued together. */
static const size_t odd_sizes[ODD_SIZES] = {1, 3, 41, 2, 997, 39, 4099};

enum style { ONE_BYTE, ODD, GLUED, STYLES };

struct relay {
    int ends[2]; // what comes from one goes to the other
    enum style style;
    size_t turn;
};

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = send(fd, bytes, count, MSG_NOSIGNAL);
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* Passes on what there is. False at the end of the stream. */
static bool pass_on(struct relay *relay, int from, int to)
{
    static const struct timespec glue_time = {.tv_nsec = 3 * 1000 * 1000};
    char bytes[65536];
    size_t most = relay->style == ONE_BYTE ? 1 : sizeof bytes;
    if (relay->style == ODD)
        most = odd_sizes[relay->turn++ % ODD_SIZES];
    if (relay->style == GLUED)
        nanosleep(&glue_time, NULL); // meanwhile, more arrives
    ssize_t count = recv(from, bytes, most, 0);
    return count > 0 && write_all(to, bytes, (size_t)count);
}

static void *relay_run(void *argument)
{
    struct relay *relay = argument;
    struct pollfd fds[2] = {{.fd = relay->ends[0], .events = POLLIN},
                            {.fd = relay->ends[1], .events = POLLIN}};
    for (bool alive = true; alive;) {
        poll(fds, 2, -1);
        for (int i = 0; i < 2 && alive; i++)
            if (fds[i].revents)
                alive = pass_on(relay, relay->ends[i], relay->ends[1 - i]);
    }
    shutdown(relay->ends[0], SHUT_RDWR);
    shutdown(relay->ends[1], SHUT_RDWR);
    return NULL;
}

/* A connected pair of TCP sockets on 127.0.0.1: {where the connection was made, where accepted}. */
static void connect_pair(int pair[2])
{
    int port, one = 1, listener = ranks_bind(&port);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(listen(listener, 1), 0);
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(pair[0], (struct sockaddr *)&address, sizeof address), 0);
    pair[1] = accept(listener, NULL, NULL);
    ck_assert_int_ge(pair[1], 0);
    setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(pair[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
}

/* One rank of two, as a thread of this process. */
struct party {
    int rank, fds[2]; // to each rank
    size_t count;
    float *data; // (count): in, then the sum
    int64_t gathered[2];
    int error;
};

static int use_everything(struct party *party, struct comm *comm)
{
    int error = ring_allreduce(comm, party->data, party->data, party->count, COMM_F32, COMM_SUM);
    for (int i = 0; i < 3 && !error; i++)
        error = barrier(comm);
    party->gathered[party->rank] = party->rank + 5;
    if (!error)
        error = ring_all_gather(comm, party->gathered, 2, COMM_I64);
    if (!error)
        error = ring_broadcast(comm, party->data, party->count, COMM_F32, 0);
    return error;
}

static void *party_run(void *argument)
{
    struct party *party = argument;
    struct environment environment = {.rank = party->rank, .world = 2, .rendezvous_fd = -1};
    struct comm_config config = {.timeout_seconds = 20};
    struct fail fail = {0};
    struct comm *comm;
    party->error = comm_adopt(&comm, &environment, &config, party->fds, &fail);
    if (!party->error)
        party->error = use_everything(party, comm);
    comm_close(comm);
    return NULL;
}

/* 0 <--> relay <--> 1 */
static void run_with_relay(struct party parties[2], enum style style)
{
    int lower[2], upper[2];
    pthread_t threads[3];
    connect_pair(lower);
    connect_pair(upper);
    parties[0].fds[1] = lower[0];
    parties[1].fds[0] = upper[1];
    struct relay relay = {.ends = {lower[1], upper[0]}, .style = style};
    pthread_create(&threads[0], NULL, relay_run, &relay);
    pthread_create(&threads[1], NULL, party_run, &parties[0]);
    pthread_create(&threads[2], NULL, party_run, &parties[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    close(lower[1]);
    close(upper[0]);
}

START_TEST(a_stream_may_be_cut_and_glued_anywhere)
{
    size_t count = _i == ONE_BYTE ? SMALL : LARGE;
    struct party parties[2] = {{.rank = 0, .count = count}, {.rank = 1, .count = count}};
    for (int rank = 0; rank < 2; rank++) {
        parties[rank].data = malloc(count * sizeof(float));
        for (size_t i = 0; i < count; i++)
            parties[rank].data[i] = 1.0f / (float)(i + 3 * (size_t)rank + 1);
    }
    run_with_relay(parties, (enum style)_i);
    for (int rank = 0; rank < 2; rank++) {
        ck_assert_int_eq(parties[rank].error, 0);
        ck_assert_int_eq(parties[rank].gathered[0], 5);
        ck_assert_int_eq(parties[rank].gathered[1], 6);
        for (size_t i = 0; i < count; i++) {
            float sum = 1.0f / (float)(i + 1) + 1.0f / (float)(i + 4);
            ck_assert_msg(parties[rank].data[i] == sum, "rank %d [%zu]", rank, i);
        }
    }
    free(parties[0].data);
    free(parties[1].data);
}
END_TEST

Suite *link_suite(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("link");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_stream_may_be_cut_and_glued_anywhere, 0, STYLES);
    suite_add_tcase(suite, tcase);
    return suite;
}
