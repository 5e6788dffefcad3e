/* check_hello: a hello to bytes and back, and what is none. See lesson02.h. */
#include "lesson02_allreduce/wire.h"
#include "tests/grade/lesson02.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORLD = 3, TRIES = 2000 };

static uint8_t *lay(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *at++ = (uint8_t)(value >> (8 * i) & 255);
    return at;
}

/* As the table in wire.h has it. */
static void lay_hello(uint8_t bytes[WIRE_HELLO_BYTES], const struct wire_hello *hello)
{
    uint8_t *at = lay(bytes, 0x52495453, 4); // "STIR"
    at = lay(at, 2, 2);
    at = lay(at, (uint64_t)hello->purpose, 2);
    memcpy(at, hello->token, ENVIRONMENT_TOKEN_BYTES);
    at = lay(at + ENVIRONMENT_TOKEN_BYTES, hello->rank, 4);
    at = lay(at, hello->world, 4);
    at = lay(at, hello->fingerprint, 8);
    lay(at, hello->port, 4);
}

/* No two bytes of a field alike, so that a field read backwards is another one. */
static struct wire_hello draw_hello(struct grade *grade)
{
    struct wire_hello hello = {.purpose = grade_draw(grade, 0, 1) ? WIRE_JOIN : WIRE_LINK,
                               .rank = (uint32_t)grade_draw(grade, 0x0102, 0x0180),
                               .world = (uint32_t)grade_draw(grade, 0x0201, 0x0280),
                               .fingerprint = 0xf1e2d3c4b5a69788 + grade_draw(grade, 0, 100),
                               .port = (uint32_t)grade_draw(grade, 0x4321, 0x9876)};
    for (size_t i = 0; i < sizeof hello.token; i++)
        hello.token[i] = (uint8_t)grade_draw(grade, 0, 255);
    return hello;
}

int hello_put(struct grade *grade)
{
    uint8_t found[WIRE_HELLO_BYTES] = {0}, expected[WIRE_HELLO_BYTES];
    int wrong = 0;
    struct wire_hello hello = draw_hello(grade);
    lay_hello(expected, &hello);
    wire_put_hello(found, &hello);
    for (size_t i = 0; i < WIRE_HELLO_BYTES && !wrong; i++)
        wrong = grade_expect(grade, found[i] == expected[i],
                             "byte %zu of a hello: expected %02x, found %02x", i, expected[i],
                             found[i]);
    return wrong;
}

int hello_get(struct grade *grade)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello = draw_hello(grade), found = {0};
    lay_hello(bytes, &hello);
    int error = wire_get_hello(&found, bytes);
    return grade_expect(grade, error == 0, "a good hello: expected 0, found error %d", error) ||
           grade_expect(grade, found.purpose == hello.purpose, "purpose: expected %d, found %d",
                        (int)hello.purpose, (int)found.purpose) ||
           grade_expect(grade, memcmp(found.token, hello.token, sizeof found.token) == 0,
                        "expected the token that was sent, found another") ||
           grade_expect(grade, found.rank == hello.rank, "rank: expected %u, found %u", hello.rank,
                        found.rank) ||
           grade_expect(grade, found.world == hello.world, "world: expected %u, found %u",
                        hello.world, found.world) ||
           grade_expect(grade, found.fingerprint == hello.fingerprint,
                        "fingerprint: expected %llx, found %llx",
                        (unsigned long long)hello.fingerprint,
                        (unsigned long long)found.fingerprint) ||
           grade_expect(grade, found.port == hello.port, "port: expected %u, found %u", hello.port,
                        found.port);
}

/* One field of a good hello is not as it should be. */
static const struct spoiled {
    const char *what;
    size_t at, size;
    uint64_t value;
    int error;
} spoiled[] = {
    {"another magic", 0, 4, 0x4d465453, -EPROTO},
    {"version 1", 4, 2, 1, -EPROTONOSUPPORT},
    {"version 3", 4, 2, 3, -EPROTONOSUPPORT},
    {"purpose 0", 6, 2, 0, -EPROTO},
    {"purpose 3", 6, 2, 3, -EPROTO},
    {"a rank beyond the world", 24, 4, 0x0300, -EPROTO},
    {"the largest rank there is", 24, 4, UINT32_MAX, -EPROTO},
    {"a world of none", 28, 4, 0, -EPROTO},
    {"a world beyond all bounds", 28, 4, UINT32_MAX, -EPROTO},
};

int hello_refuses(struct grade *grade)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello = draw_hello(grade), found;
    int wrong = 0;
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled && !wrong; i++) {
        lay_hello(bytes, &hello);
        lay(bytes + spoiled[i].at, spoiled[i].value, spoiled[i].size);
        int error = wire_get_hello(&found, bytes);
        wrong = grade_expect(grade, error == spoiled[i].error, "%s: expected %s, found %d",
                             spoiled[i].what,
                             spoiled[i].error == -EPROTO ? "-EPROTO" : "-EPROTONOSUPPORT", error);
    }
    return wrong;
}

/* Connects to rank 0's door and says something; the socket stays open. */
static int come(const struct ranks_self *self, const uint8_t *bytes, size_t size_bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)self->environment.master_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < TRIES; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return send(fd, bytes, size_bytes, MSG_NOSIGNAL) == (ssize_t)size_bytes;
        close(fd); // rank 0 does not listen yet
        ranks_pause(0.001);
    }
    return 0;
}

/* Before rank 1 comes itself: who knows the token, but says what no rank says; half a hello; nobody. */
static int stranger_body(struct ranks_self *self)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello = {.purpose = WIRE_JOIN, .rank = 2, .world = WORLD, .port = 1};
    memcpy(hello.token, self->environment.token, sizeof hello.token);
    int came = 1;
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled && self->rank == 1 && came; i++) {
        lay_hello(bytes, &hello);
        lay(bytes + spoiled[i].at, spoiled[i].value, spoiled[i].size);
        came = come(self, bytes, sizeof bytes);
    }
    if (self->rank == 1 && came)
        came = come(self, bytes, sizeof bytes / 2) && come(self, bytes, 0);
    if (!came)
        return ranks_expect(self, false, "a stranger could not get through to rank 0");
    return comm_open(&self->comm, &self->environment, &self->config, &self->fail) ? 1 : 0;
}

int hello_stranger(struct grade *grade)
{
    struct ranks_plan plan = {.world = WORLD,
                              .body = stranger_body,
                              .unopened = true,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    return grade_result(grade, &result);
}
