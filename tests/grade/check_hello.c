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

/* No two bytes of a field alike, so that a field read backwards is another one; a port of a Unix socket, beyond 16
 * bits; and a token with a 0 in it, which is no text's end. */
static struct wire_hello draw_hello(struct grade *grade, enum wire_purpose purpose)
{
    struct wire_hello hello = {.purpose = purpose,
                               .rank = (uint32_t)grade_draw(grade, 0x0102, 0x0180),
                               .world = (uint32_t)grade_draw(grade, 0x0201, 0x0280),
                               .fingerprint = 0xf1e2d3c4b5a69788 + grade_draw(grade, 0, 100),
                               .port = (uint32_t)grade_draw(grade, 0x14321, 0x18765)};
    for (size_t i = 0; i < sizeof hello.token; i++)
        hello.token[i] = (uint8_t)grade_draw(grade, 1, 255);
    hello.token[grade_draw(grade, 3, sizeof hello.token - 3)] = 0;
    return hello;
}

/* Into room for more, of which none is to be touched. */
static int compare_put(struct grade *grade, enum wire_purpose purpose)
{
    enum { ROOM = WIRE_HELLO_BYTES + 16, UNTOUCHED = 0xa7 };
    uint8_t found[ROOM], expected[ROOM];
    int wrong = 0;
    struct wire_hello hello = draw_hello(grade, purpose);
    memset(found, UNTOUCHED, ROOM);
    memset(expected, UNTOUCHED, ROOM);
    lay_hello(expected, &hello);
    wire_put_hello(found, &hello);
    for (size_t i = 0; i < ROOM && !wrong; i++)
        wrong =
            grade_expect(grade, found[i] == expected[i], "byte %zu %s: expected %02x%s, found %02x",
                         i, i < WIRE_HELLO_BYTES ? "of a hello" : "and a hello has 44", expected[i],
                         i < WIRE_HELLO_BYTES ? "" : " as before", found[i]);
    return wrong;
}

int hello_put(struct grade *grade)
{
    return compare_put(grade, WIRE_LINK) || compare_put(grade, WIRE_JOIN);
}

static int compare_get(struct grade *grade, const struct wire_hello *hello)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello found = {0};
    lay_hello(bytes, hello);
    int error = wire_get_hello(&found, bytes);
    return grade_expect(grade, error == 0,
                        "a good hello, rank %u of %u: expected 0, found error %d", hello->rank,
                        hello->world, error) ||
           grade_expect(grade, found.purpose == hello->purpose, "purpose: expected %d, found %d",
                        (int)hello->purpose, (int)found.purpose) ||
           grade_expect(grade, memcmp(found.token, hello->token, sizeof found.token) == 0,
                        "expected the token that was sent, found another") ||
           grade_expect(grade, found.rank == hello->rank, "rank: expected %u, found %u",
                        hello->rank, found.rank) ||
           grade_expect(grade, found.world == hello->world, "world: expected %u, found %u",
                        hello->world, found.world) ||
           grade_expect(grade, found.fingerprint == hello->fingerprint,
                        "fingerprint: expected %llx, found %llx",
                        (unsigned long long)hello->fingerprint,
                        (unsigned long long)found.fingerprint) ||
           grade_expect(grade, found.port == hello->port, "port: expected %u, found %u",
                        hello->port, found.port);
}

/* Both purposes, and the least and the largest world and rank. */
int hello_get(struct grade *grade)
{
    struct wire_hello link = draw_hello(grade, WIRE_LINK), join = draw_hello(grade, WIRE_JOIN),
                      least = link, most = join;
    least.rank = 0;
    least.world = 1;
    most.rank = ENVIRONMENT_WORLD_MOST - 1;
    most.world = ENVIRONMENT_WORLD_MOST;
    return compare_get(grade, &link) || compare_get(grade, &join) || compare_get(grade, &least) ||
           compare_get(grade, &most);
}

/* One field of a good hello is not as it should be. Each byte of a field counts. */
static const struct spoiled {
    const char *what;
    size_t at, size;
    uint64_t value;
    int error;
} spoiled[] = {
    {"another magic", 0, 4, 0x4d465453, -EPROTO},
    {"a magic with another first byte", 0, 1, 0x00, -EPROTO},
    {"a magic with another second byte", 1, 1, 0x00, -EPROTO},
    {"a magic with another third byte", 2, 1, 0x00, -EPROTO},
    {"a magic with another last byte", 3, 1, 0x00, -EPROTO},
    {"a reply's magic", 0, 4, 0x59525453, -EPROTO},
    {"another magic and another version", 0, 6, 0x00034d465453, -EPROTO},
    {"version 1", 4, 2, 1, -EPROTONOSUPPORT},
    {"version 3", 4, 2, 3, -EPROTONOSUPPORT},
    {"version 258", 4, 2, 0x0102, -EPROTONOSUPPORT},
    {"version 3, with a purpose of its own", 4, 4, 0x00030003, -EPROTONOSUPPORT},
    {"purpose 0", 6, 2, 0, -EPROTO},
    {"purpose 3", 6, 2, 3, -EPROTO},
    {"purpose 257", 6, 2, 0x0101, -EPROTO},
    {"a rank beyond the world", 24, 4, 0x0300, -EPROTO},
    {"rank 3 of 3", 24, 8, 0x0000000300000003, -EPROTO},
    {"rank 65537", 24, 4, 0x00010001, -EPROTO},
    {"the largest rank there is", 24, 4, UINT32_MAX, -EPROTO},
    {"a world of none", 28, 4, 0, -EPROTO},
    {"a world one beyond the most", 28, 4, ENVIRONMENT_WORLD_MOST + 1, -EPROTO},
    {"a world of 65539", 28, 4, 0x00010003, -EPROTO},
    {"a world beyond all bounds", 28, 4, UINT32_MAX, -EPROTO},
};

static const char *error_name(int error)
{
    if (error == 0)
        return "0";
    return error == -EPROTO            ? "-EPROTO"
           : error == -EPROTONOSUPPORT ? "-EPROTONOSUPPORT"
                                       : "another error";
}

int hello_refuses(struct grade *grade)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello = draw_hello(grade, WIRE_JOIN), found;
    int wrong = 0;
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled && !wrong; i++) {
        lay_hello(bytes, &hello);
        lay(bytes + spoiled[i].at, spoiled[i].value, spoiled[i].size);
        int error = wire_get_hello(&found, bytes);
        wrong =
            grade_expect(grade, error == spoiled[i].error, "%s: expected %s, found %s (%d)",
                         spoiled[i].what, error_name(spoiled[i].error), error_name(error), error);
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
