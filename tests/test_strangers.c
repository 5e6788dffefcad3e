/* Strangers at every door while a job starts, and liars among its ranks: they are dropped, the sums
 * keep their bits, memory does not grow, and no door stays open. */
#include "common/rng.h"
#include "lesson02_allreduce/address.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/sums.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WORLD = 3,
    COUNT = 5003,
    DOORS_MOST = 8,
    DESCRIPTORS_MOST = 256,
    GROWTH_MOST_KB = 16 * 1024,
    PATIENCE_MS = 60000
};

static void pause_seconds(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static long peak_kilobytes(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

static int reduce_with_each(struct ranks_self *self)
{
    for (int one = 0; one < ALGORITHM_AUTO; one++) {
        size_t where;
        int wrong = sums_allreduce(self->comm, (enum algorithm)one, COUNT, &where);
        if (wrong < 0)
            return 1;
        if (ranks_expect(self, !wrong, "%s: [%zu] differs", algorithm_name((enum algorithm)one),
                         where))
            return 1;
    }
    return 0;
}

/* --- what strangers say ---------------------------------------------------------------------- */

enum {
    SAYINGS = 9,
    SAYING_BYTES = 65536,
    CROWD = 30,
    STRANGERS_MOST = DOORS_MOST * (SAYINGS + CROWD)
};

static struct wire_hello hello_of(const struct ranks_self *self, enum wire_purpose purpose,
                                  int rank)
{
    struct wire_hello hello = {
        .purpose = purpose, .rank = (uint32_t)rank, .world = WORLD, .port = 1};
    memcpy(hello.token, self->environment.token, sizeof hello.token);
    return hello;
}

/* Fills in bytes, and returns how many. */
static size_t say(uint8_t bytes[SAYING_BYTES], const struct ranks_self *self, int number)
{
    static const char web[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n";
    const struct rng rng = {.seed = 3, .stream = RNG_TEST};
    struct wire_hello hello = hello_of(self, number % 2 ? WIRE_JOIN : WIRE_LINK, 2);
    struct wire_frame frame = {
        .kind = WIRE_DATA, .call = {.type = COMM_U8}, .length_bytes = 1ULL << 63};
    wire_put_hello(bytes, &hello);
    switch (number) {
    case 0:
        return 0;
    case 1:
    case 2:
        return WIRE_HELLO_BYTES / 2;
    case 3:
        memcpy(bytes, web, sizeof web);
        return sizeof web;
    case 4:
        for (size_t i = 0; i < SAYING_BYTES; i++)
            bytes[i] = (uint8_t)rng_bits(&rng, i);
        return SAYING_BYTES;
    case 5:
    case 6: // another job's rank
        hello.token[3] ^= 1;
        wire_put_hello(bytes, &hello);
        return WIRE_HELLO_BYTES;
    case 7: // a rank that does not call here: to rank 2 link none, and rank 0 joins nobody
        hello = hello_of(self, WIRE_LINK, 0);
        wire_put_hello(bytes, &hello);
        return WIRE_HELLO_BYTES;
    default:
        frame.call.count = frame.length_bytes;
        wire_put_frame(bytes, &frame);
        return WIRE_FRAME_BYTES;
    }
}

/* --- strangers at every door ----------------------------------------------------------------- */

/* A process beside each rank that comes to all of that rank's doors as they open. */
struct visitor {
    const struct ranks_self *self;
    struct sockaddr_storage doors[DOORS_MOST];
    socklen_t lengths[DOORS_MOST];
    int door_count;
    int strangers[STRANGERS_MOST], stranger_count; // connected sockets
};

/* How a visitor ends. */
enum verdict { ALL_WELL, DOORS_MISSED, STILL_LISTENING, STILL_CONNECTED };

static void come(struct visitor *visitor, int door, int number)
{
    uint8_t bytes[SAYING_BYTES];
    const struct sockaddr_storage *address = &visitor->doors[door];
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)address, visitor->lengths[door])) {
        close(fd); // it has just been shut
        return;
    }
    size_t size_bytes = say(bytes, visitor->self, number);
    send(fd, bytes, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    visitor->strangers[visitor->stranger_count++] = fd;
}

/* Unless it was visited already. */
static void visit(struct visitor *visitor, const struct sockaddr_storage *address, socklen_t length)
{
    int door = visitor->door_count;
    for (int i = 0; i < door; i++)
        if (memcmp(&visitor->doors[i], address, sizeof *address) == 0)
            return;
    if (door == DOORS_MOST)
        return;
    visitor->doors[door] = *address;
    visitor->lengths[door] = length;
    visitor->door_count++;
    for (int number = 0; number < SAYINGS; number++)
        come(visitor, door, number);
    for (int i = 0; i < CROWD; i++)
        come(visitor, door, 0);
}

/* Is this line of /proc/net/tcp or /proc/net/unix a socket that listens? Then its inode, or 0. */
static unsigned long read_listener(const char *line, struct sockaddr_storage *address,
                                   socklen_t *length)
{
    struct sockaddr_in *tcp = (struct sockaddr_in *)address;
    struct sockaddr_un *local = (struct sockaddr_un *)address;
    unsigned ip, port, state;
    unsigned long inode;
    memset(address, 0, sizeof *address);
    if (sscanf(line, " %*d: %X:%X %*s %X %*s %*s %*s %*u %*u %lu", &ip, &port, &state, &inode) ==
            4 &&
        state == 0x0a) {
        *tcp = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = ip};
        *length = sizeof *tcp;
        return inode;
    }
    if (sscanf(line, "%*x: %*x %*x 00010000 %*x %*x %lu @%5s", &inode, local->sun_path + 1) == 2) {
        local->sun_family = AF_UNIX;
        *length = offsetof(struct sockaddr_un, sun_path) + 1 + ADDRESS_UNIX_DIGITS;
        return inode;
    }
    return 0;
}

static bool has_socket(pid_t process, unsigned long inode)
{
    char path[64], link[64] = "", wanted[64];
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    for (int fd = 0; fd < DESCRIPTORS_MOST; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, fd);
        ssize_t count = readlink(path, link, sizeof link - 1);
        link[count > 0 ? count : 0] = 0;
        if (strcmp(link, wanted) == 0)
            return true;
    }
    return false;
}

/* How many sockets of the rank listen; each is visited, if there is a visitor. */
static int find_doors(pid_t rank, struct visitor *visitor)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/unix"};
    char line[512];
    int count = 0;
    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_storage address;
        socklen_t length;
        FILE *table = fopen(tables[i], "r");
        while (table && fgets(line, sizeof line, table)) {
            unsigned long inode = read_listener(line, &address, &length);
            if (inode == 0 || !has_socket(rank, inode))
                continue;
            count++;
            if (visitor)
                visit(visitor, &address, length);
        }
        if (table)
            fclose(table);
    }
    return count;
}

static bool all_dropped(const struct visitor *visitor)
{
    for (int i = 0; i < visitor->stranger_count; i++) {
        struct pollfd end = {.fd = visitor->strangers[i], .events = POLLIN};
        char byte;
        if (poll(&end, 1, PATIENCE_MS) != 1 || recv(end.fd, &byte, 1, MSG_DONTWAIT) > 0)
            return false;
    }
    return true;
}

/* Shared by all ranks and visitors. */
struct siege {
    enum comm_transport transport;
    int late;           // the rank that comes last: until then the others' doors stand open
    atomic_int visited; // ranks whose doors have all been visited
};

/* A life beside a rank: until `open` ends, which is when the rank has met the others. Rank 0 has a
 * front door and one for links, as every other has. The late rank's is open for but a moment, and
 * may be missed. */
static enum verdict besiege(const struct ranks_self *self, int open, pid_t rank)
{
    struct siege *siege = self->context;
    struct visitor *visitor = calloc(1, sizeof *visitor);
    struct pollfd end = {.fd = open, .events = POLLIN};
    int doors = (self->rank == 0) + 1;
    bool visited = false;
    visitor->self = self;
    while (poll(&end, 1, 1) == 0) {
        find_doors(rank, visitor);
        if (!visited && visitor->door_count == doors) {
            visited = true;
            atomic_fetch_add(&siege->visited, 1);
        }
    }
    if (self->rank != siege->late && visitor->door_count != doors)
        return DOORS_MISSED;
    if (find_doors(rank, NULL) > 0)
        return STILL_LISTENING;
    return all_dropped(visitor) ? ALL_WELL : STILL_CONNECTED;
}

static pid_t send_visitor(const struct ranks_self *self, const int open[2])
{
    pid_t rank = getpid(), visitor = fork();
    if (visitor != 0)
        return visitor;
    close(open[1]);
    if (self->environment.rendezvous_fd >= 0)
        close(self->environment.rendezvous_fd); // or the front door would not be shut
    _exit((int)besiege(self, open[0], rank));
}

static int besieged_body(struct ranks_self *self)
{
    static const char *const verdicts[] = {
        "all well", "a door was missed", "a socket still listens", "a stranger is still connected"};
    struct siege *siege = self->context;
    int open[2], status = 0;
    if (pipe(open))
        return 1;
    pid_t visitor = send_visitor(self, open);
    long before = peak_kilobytes();
    self->config.transport = siege->transport;
    for (int i = 0; self->rank == siege->late && i < 6000; i++)
        if (atomic_load(&siege->visited) < WORLD - 1)
            pause_seconds(0.01);
    int wrong = comm_open(&self->comm, &self->environment, &self->config, &self->fail) != 0;
    close(open[1]);
    wrong = wrong || reduce_with_each(self);
    long grown = peak_kilobytes() - before;
    waitpid(visitor, &status, 0);
    return wrong ||
           ranks_expect(self, status == 0, "%s",
                        WIFEXITED(status) ? verdicts[WEXITSTATUS(status)] : "killed") ||
           ranks_expect(self, grown < GROWTH_MOST_KB, "%ld KiB more", grown);
}

START_TEST(strangers_at_every_door_change_no_bit_and_are_all_dropped)
{
    struct siege *siege =
        mmap(NULL, sizeof *siege, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(siege, MAP_FAILED);
    siege->transport = _i / 2 ? COMM_UNIX : COMM_TCP;
    siege->late = 1 + _i % 2;
    struct ranks_plan plan = {
        .world = WORLD, .body = besieged_body, .context = siege, .unopened = true};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    munmap(siege, sizeof *siege);
}
END_TEST

/* --- a rank that links up twice -------------------------------------------------------------- */

static int connect_to(const struct sockaddr_storage *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 6000; i++) {
        if (connect(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_in)) == 0)
            return fd;
        pause_seconds(0.01);
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
    struct wire_hello hello = hello_of(self, WIRE_JOIN, 1);
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
    struct wire_hello two = hello_of(self, WIRE_LINK, 2), one = hello_of(self, WIRE_LINK, 1);
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
               reduce_with_each(self);
    listener = ranks_bind(&port);
    listen(listener, 4);
    int wrong = join(self, port, &side) || link_twice(self, listener, &side, fds);
    close(listener);
    return wrong ||
           comm_adopt(&self->comm, &self->environment, &self->config, fds, &self->fail) != 0 ||
           reduce_with_each(self);
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
    pause_seconds(0.2); // by then the broadcast has filled the socket
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
    long before = peak_kilobytes();
    int error = comm_adopt(&self->comm, &self->environment, &self->config, fds, &self->fail);
    if (!error && lying->lie.hangs_up)
        error = ring_broadcast(self->comm, data, count, COMM_F32, 0);
    else if (!error)
        error = ring_allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    long grown = peak_kilobytes() - before;
    free(data);
    return ranks_expect(self, grown < GROWTH_MOST_KB, "%ld KiB more", grown) ? 2 : error != 0;
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
                reduce_with_each(self);
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

Suite *strangers_suite(void)
{
    Suite *suite = suite_create("strangers");
    TCase *tcase = tcase_create("strangers");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, strangers_at_every_door_change_no_bit_and_are_all_dropped, 0, 4);
    tcase_add_test(tcase, a_rank_that_links_up_twice_is_let_in_once);
    tcase_add_test(tcase, a_rank_that_never_links_up_is_named_by_those_that_have);
    tcase_add_loop_test(tcase, a_length_that_cannot_be_is_an_error_and_no_memory, 0, LIES);
    suite_add_tcase(suite, tcase);
    return suite;
}
