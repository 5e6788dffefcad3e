/*
 * fuzz_hello: what is said while the ranks meet: a hello, a reply, an address.
 *
 * The same fuzzed bytes (message.h) become one of each. Promises: what is accepted is in range and
 * is encoded to the same bytes again, so no field was passed over; what we write is accepted.
 */
#include "lesson02_allreduce/wire.h"
#include "tests/fuzz/message.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <string.h>

enum { OURS = 3, UNSET = 0xa5 };

static const struct wire_hello hellos[OURS] = {
    {.purpose = WIRE_JOIN, .token = {1, 2, 3, 255}, .rank = 2, .world = 4, .port = 29500},
    {.purpose = WIRE_LINK, .fingerprint = UINT64_MAX, .rank = 0, .world = 1, .port = 1},
    {.purpose = WIRE_LINK,
     .rank = ENVIRONMENT_WORLD_MOST - 1,
     .world = ENVIRONMENT_WORLD_MOST,
     .port = 65535},
};
static const struct wire_reply replies[OURS] = {
    {WIRE_TABLE, 4 * WIRE_ADDRESS_BYTES},
    {WIRE_REFUSAL, WIRE_TEXT_MOST},
    {WIRE_TABLE, ENVIRONMENT_WORLD_MOST *WIRE_ADDRESS_BYTES},
};
static const struct wire_address addresses[OURS] = {
    {.family = 4, .port = 29500, .bytes = {127, 0, 0, 1}},
    {.family = 6, .port = 65535, .bytes = {0xfe, 0x80, [15] = 1}},
    {.family = 4, .port = 1},
};

static const char not_same[] = "what is accepted is encoded to the same bytes";
static const char not_ours[] = "what we write ourselves is accepted";
static const char not_named[] = "a refusal is -EPROTO, or -EPROTONOSUPPORT for another version";

/* What is broken about a refusal, if anything. */
static const char *refused(int code, bool ours)
{
    if (ours)
        return not_ours;
    return code == -EPROTO || code == -EPROTONOSUPPORT ? NULL : not_named;
}

static const char *judge_hello(const uint8_t bytes[WIRE_HELLO_BYTES], bool ours, bool *accepted)
{
    struct wire_hello hello;
    uint8_t again[WIRE_HELLO_BYTES];
    memset(&hello, UNSET, sizeof hello);
    int code = wire_get_hello(&hello, bytes);
    *accepted = code == 0;
    if (code != 0)
        return refused(code, ours);
    if (hello.world > ENVIRONMENT_WORLD_MOST || hello.rank >= hello.world)
        return "an accepted hello is of a rank in a world";
    wire_put_hello(again, &hello);
    return memcmp(again, bytes, sizeof again) == 0 ? NULL : not_same;
}

static const char *judge_reply(const uint8_t bytes[WIRE_REPLY_BYTES], bool ours)
{
    struct wire_reply reply;
    uint8_t again[WIRE_REPLY_BYTES];
    memset(&reply, UNSET, sizeof reply);
    int code = wire_get_reply(&reply, bytes);
    if (code != 0)
        return refused(code, ours);
    size_t most = reply.answer == WIRE_TABLE ? ENVIRONMENT_WORLD_MOST * (size_t)WIRE_ADDRESS_BYTES
                                             : WIRE_TEXT_MOST;
    if (reply.length_bytes > most)
        return "an accepted reply is short";
    wire_put_reply(again, &reply);
    return memcmp(again, bytes, sizeof again) == 0 ? NULL : not_same;
}

static const char *judge_address(const uint8_t bytes[WIRE_ADDRESS_BYTES], bool ours)
{
    struct wire_address address;
    uint8_t again[WIRE_ADDRESS_BYTES];
    memset(&address, UNSET, sizeof address);
    int code = wire_get_address(&address, bytes);
    if (code != 0)
        return refused(code, ours);
    wire_put_address(again, &address);
    return memcmp(again, bytes, sizeof again) == 0 ? NULL : not_same;
}

struct verdict fuzz_hello(const uint8_t *data, size_t size)
{
    uint8_t hello[WIRE_HELLO_BYTES], reply[WIRE_REPLY_BYTES], address[WIRE_ADDRESS_BYTES];
    struct verdict verdict;
    size_t which;
    bool ours = message_which(data, size, OURS, &which);
    bool same[3] = {false, false, false};
    if (ours) {
        wire_put_hello(hello, &hellos[which]);
        wire_put_reply(reply, &replies[which]);
        wire_put_address(address, &addresses[which]);
        same[0] = message_turn(hello, sizeof hello, data, size);
        same[1] = message_turn(reply, sizeof reply, data, size);
        same[2] = message_turn(address, sizeof address, data, size);
    } else {
        message_copy(hello, sizeof hello, data, size);
        message_copy(reply, sizeof reply, data, size);
        message_copy(address, sizeof address, data, size);
    }
    verdict.broken = judge_hello(hello, same[0], &verdict.accepted);
    if (!verdict.broken)
        verdict.broken = judge_reply(reply, same[1]);
    if (!verdict.broken)
        verdict.broken = judge_address(address, same[2]);
    return verdict;
}
