/* A stream is not messages: a relay on every link cuts and glues as it likes, and no algorithm over
 * either transport loses a bit. */
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/sums.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WORLD_MOST = 3, SMALL = 301, LARGE = 100003, ODD_SIZES = 7, TRANSPORTS = 2 };

/* What a relay passes on at once: single bytes, odd sizes that tear headers and elements, or many
 * messages glued together. */
static const size_t odd_sizes[ODD_SIZES] = {1, 3, 41, 2, 997, 39, 4099};

enum style { ONE_BYTE, ODD, GLUED, STYLES };

/* One direction of one link: a slow rank on one side is not to stop what goes the other way. */
struct relay {
    int from, to;
    enum style style;
    pthread_t thread;
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

static void *relay_run(void *argument)
{
    static const struct timespec glue_time = {.tv_nsec = 3 * 1000 * 1000};
    const struct relay *relay = argument;
    char bytes[65536];
    ssize_t count;
    size_t turn = 0;
    do {
        size_t most = relay->style == ONE_BYTE ? 1 : sizeof bytes;
        if (relay->style == ODD)
            most = odd_sizes[turn++ % ODD_SIZES];
        if (relay->style == GLUED)
            nanosleep(&glue_time, NULL); // meanwhile, more arrives
        count = recv(relay->from, bytes, most, 0);
    } while (count > 0 && write_all(relay->to, bytes, (size_t)count));
    shutdown(relay->from, SHUT_RD);
    shutdown(relay->to, SHUT_WR);
    return NULL;
}

static void connect_tcp(int pair[2])
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

static void connect_pair(int pair[2], enum comm_transport transport)
{
    if (transport == COMM_TCP)
        connect_tcp(pair);
    else
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

/* One rank, as a thread of this process. */
struct party {
    int rank, world, fds[WORLD_MOST]; // to each rank
    size_t count;
    char trouble[256]; // "" when all is well
    pthread_t thread;
};

static int reduce_with_each(struct party *party, struct comm *comm)
{
    for (int one = 0; one < ALGORITHM_AUTO; one++) {
        size_t where;
        int wrong = sums_allreduce(comm, (enum algorithm)one, party->count, &where);
        if (wrong > 0)
            snprintf(party->trouble, sizeof party->trouble, "%s: [%zu] differs",
                     algorithm_name((enum algorithm)one), where);
        if (wrong)
            return wrong;
    }
    return 0;
}

/* Frames that carry nothing, and little. */
static int gather_and_spread(struct party *party, struct comm *comm)
{
    int64_t all[WORLD_MOST] = {0};
    int error = 0;
    all[party->rank] = party->rank + 5;
    for (int i = 0; i < 3 && !error; i++)
        error = barrier(comm);
    if (!error)
        error = ring_all_gather(comm, all, (size_t)party->world, COMM_I64);
    for (int rank = 0; rank < party->world && !error; rank++)
        if (all[rank] != rank + 5)
            snprintf(party->trouble, sizeof party->trouble, "gathered %lld from rank %d",
                     (long long)all[rank], rank);
    return error ? error : ring_broadcast(comm, all, WORLD_MOST, COMM_I64, 0);
}

static void *party_run(void *argument)
{
    struct party *party = argument;
    struct environment environment = {
        .rank = party->rank, .world = party->world, .rendezvous_fd = -1};
    struct comm_config config = {.timeout_seconds = 20};
    struct fail fail = {0};
    struct comm *comm;
    int error = comm_adopt(&comm, &environment, &config, party->fds, &fail);
    if (!error)
        error = reduce_with_each(party, comm);
    if (!error)
        error = gather_and_spread(party, comm);
    if (error < 0)
        snprintf(party->trouble, sizeof party->trouble, "%.255s",
                 comm ? comm_fail(comm)->text : fail.text);
    comm_close(comm);
    return NULL;
}

/* lower <--> relay <--> upper. Returns the relays there are by now. */
static size_t put_between(struct party *lower, struct party *upper, struct relay *relays,
                          size_t count, enum comm_transport transport)
{
    int below[2], above[2];
    connect_pair(below, transport);
    connect_pair(above, transport);
    lower->fds[upper->rank] = below[0];
    upper->fds[lower->rank] = above[0];
    relays[count].from = relays[count + 1].to = below[1];
    relays[count].to = relays[count + 1].from = above[1];
    return count + 2;
}

static void run_with_relays(struct party *parties, struct relay *relays, size_t relay_count)
{
    int world = parties[0].world;
    for (size_t i = 0; i < relay_count; i++)
        ck_assert_int_eq(pthread_create(&relays[i].thread, NULL, relay_run, &relays[i]), 0);
    for (int rank = 0; rank < world; rank++)
        ck_assert_int_eq(pthread_create(&parties[rank].thread, NULL, party_run, &parties[rank]), 0);
    for (int rank = 0; rank < world; rank++)
        pthread_join(parties[rank].thread, NULL);
    for (size_t i = 0; i < relay_count; i++)
        pthread_join(relays[i].thread, NULL);
    for (size_t i = 0; i < relay_count; i++)
        close(relays[i].from); // each is one direction's source
}

START_TEST(a_stream_may_be_cut_and_glued_anywhere)
{
    enum style style = (enum style)(_i % STYLES);
    enum comm_transport transport = _i / STYLES % TRANSPORTS ? COMM_UNIX : COMM_TCP;
    int world = _i / STYLES / TRANSPORTS ? 3 : 2;
    struct party parties[WORLD_MOST] = {0};
    struct relay relays[WORLD_MOST * (WORLD_MOST - 1)];
    size_t relay_count = 0;
    for (int rank = 0; rank < world; rank++) {
        parties[rank].rank = rank;
        parties[rank].world = world;
        parties[rank].count = style == ONE_BYTE ? SMALL : LARGE;
        for (int below = 0; below < rank; below++)
            relay_count =
                put_between(&parties[below], &parties[rank], relays, relay_count, transport);
    }
    for (size_t i = 0; i < relay_count; i++)
        relays[i].style = style;
    run_with_relays(parties, relays, relay_count);
    for (int rank = 0; rank < world; rank++)
        ck_assert_msg(!parties[rank].trouble[0], "rank %d of %d: %s", rank, world,
                      parties[rank].trouble);
}
END_TEST

Suite *link_suite(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("link");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_stream_may_be_cut_and_glued_anywhere, 0, STYLES * TRANSPORTS * 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
