/* Strangers at every door while a job starts: they are dropped, the sums keep their bits, memory does not
 * grow, and no door stays open. */
#include "common/rng.h"
#include "lesson02_allreduce/address.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/unwelcome.h"

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
#include <unistd.h>

enum { WORLD = UNWELCOME_WORLD, DOORS_MOST = 8, DESCRIPTORS_MOST = 256, PATIENCE_MS = 60000 };

/* --- what strangers say ---------------------------------------------------------------------- */

enum {
    SAYINGS = 9,
    SAYING_BYTES = 65536,
    CROWD = 30,
    STRANGERS_MOST = DOORS_MOST * (SAYINGS + CROWD)
};

/* Fills in bytes, and returns how many. */
static size_t say(uint8_t bytes[SAYING_BYTES], const struct ranks_self *self, int number)
{
    static const char web[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n";
    const struct rng rng = {.seed = 3, .stream = RNG_TEST};
    struct wire_hello hello = unwelcome_hello(self, number % 2 ? WIRE_JOIN : WIRE_LINK, 2);
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
        hello = unwelcome_hello(self, WIRE_LINK, 0);
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
    long before = unwelcome_peak_kb();
    self->config.transport = siege->transport;
    for (int i = 0; self->rank == siege->late && i < 6000; i++)
        if (atomic_load(&siege->visited) < WORLD - 1)
            ranks_pause(0.01);
    int wrong = comm_open(&self->comm, &self->environment, &self->config, &self->fail) != 0;
    close(open[1]);
    wrong = wrong || unwelcome_sums(self);
    long grown = unwelcome_peak_kb() - before;
    waitpid(visitor, &status, 0);
    return wrong ||
           ranks_expect(self, status == 0, "%s",
                        WIFEXITED(status) ? verdicts[WEXITSTATUS(status)] : "killed") ||
           ranks_expect(self, grown < UNWELCOME_GROWTH_MOST_KB, "%ld KiB more", grown);
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

Suite *strangers_suite(void)
{
    Suite *suite = suite_create("strangers");
    TCase *tcase = tcase_create("strangers");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, strangers_at_every_door_change_no_bit_and_are_all_dropped, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
