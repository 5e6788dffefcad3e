/* The wire: what is written is read back, to the byte; what we did not write is refused. */
#include "lesson02_allreduce/wire.h"
#include "common/rng.h"
#include "lesson02_allreduce/address.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <string.h>

static const struct wire_hello a_hello = {.purpose = WIRE_JOIN,
                                          .token = {1, 2, 3, 255},
                                          .rank = 2,
                                          .world = 4,
                                          .fingerprint = 0x0123456789abcdef,
                                          .port = 29500};
static const struct wire_frame a_frame = {.kind = WIRE_DATA,
                                          .call = {.operation = COMM_BROADCAST,
                                                   .algorithm = ALGORITHM_DIRECT,
                                                   .type = COMM_F64,
                                                   .reduction = COMM_MAX,
                                                   .count = ((uint64_t)1 << 33) + 5},
                                          .tag = 0xfffffffe,
                                          .step = 3,
                                          .sequence = ((uint64_t)1 << 40) + 7,
                                          .length_bytes = ((uint64_t)1 << 33) + 8};

START_TEST(a_hello_comes_back_as_it_went)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello back = {0};
    wire_put_hello(bytes, &a_hello);
    ck_assert_int_eq(wire_get_hello(&back, bytes), 0);
    ck_assert_int_eq(back.purpose, a_hello.purpose);
    ck_assert_mem_eq(back.token, a_hello.token, sizeof back.token);
    ck_assert_uint_eq(back.rank, a_hello.rank);
    ck_assert_uint_eq(back.world, a_hello.world);
    ck_assert_uint_eq(back.fingerprint, a_hello.fingerprint);
    ck_assert_uint_eq(back.port, a_hello.port);
}
END_TEST

START_TEST(a_frame_comes_back_as_it_went)
{
    uint8_t bytes[WIRE_FRAME_BYTES];
    struct wire_frame back = {0};
    wire_put_frame(bytes, &a_frame);
    ck_assert_int_eq(wire_get_frame(&back, bytes), 0);
    ck_assert_int_eq(back.kind, a_frame.kind);
    ck_assert_int_eq(back.call.operation, a_frame.call.operation);
    ck_assert_int_eq(back.call.algorithm, a_frame.call.algorithm);
    ck_assert_int_eq(back.call.type, a_frame.call.type);
    ck_assert_int_eq(back.call.reduction, a_frame.call.reduction);
    ck_assert_uint_eq(back.call.count, a_frame.call.count);
    ck_assert_uint_eq(back.tag, a_frame.tag);
    ck_assert_uint_eq(back.step, a_frame.step);
    ck_assert_uint_eq(back.sequence, a_frame.sequence);
    ck_assert_uint_eq(back.length_bytes, a_frame.length_bytes);
}
END_TEST

START_TEST(the_layout_is_the_same_on_every_machine)
{
    static const uint8_t expected[WIRE_FRAME_BYTES] = {
        'S',  'T',  'F',  'M',  1, 3, 4, 1,  // magic, kind, operation, algorithm, type
        2,    0,    0,    0,                 // reduction, 0
        0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0,  // tag, step
        7,    0,    0,    0,    0, 1, 0, 0,  // sequence
        5,    0,    0,    0,    2, 0, 0, 0,  // count
        8,    0,    0,    0,    2, 0, 0, 0}; // length
    uint8_t bytes[WIRE_FRAME_BYTES];
    wire_put_frame(bytes, &a_frame);
    ck_assert_mem_eq(bytes, expected, sizeof bytes);
}
END_TEST

START_TEST(replies_and_addresses_come_back_as_they_went)
{
    const struct wire_reply replies[2] = {{WIRE_TABLE, 4 * WIRE_ADDRESS_BYTES}, {WIRE_REFUSAL, 99}};
    const struct wire_address address = {.family = 6, .port = 65535, .bytes = {1, 2, 3, [15] = 9}};
    uint8_t bytes[WIRE_ADDRESS_BYTES];
    struct wire_address back;
    struct wire_reply reply;
    for (int i = 0; i < 2; i++) {
        wire_put_reply(bytes, &replies[i]);
        ck_assert_int_eq(wire_get_reply(&reply, bytes), 0);
        ck_assert_int_eq(reply.answer, replies[i].answer);
        ck_assert_uint_eq(reply.length_bytes, replies[i].length_bytes);
    }
    wire_put_address(bytes, &address);
    ck_assert_int_eq(wire_get_address(&back, bytes), 0);
    ck_assert_uint_eq(back.family, 6);
    ck_assert_uint_eq(back.port, 65535);
    ck_assert_mem_eq(back.bytes, address.bytes, 16);
}
END_TEST

START_TEST(addresses_of_all_families_survive_the_wire)
{
    struct sockaddr_storage before = {0}, after;
    char name[ADDRESS_NAME_BYTES];
    uv_ip4_addr("127.0.0.1", 29500, (struct sockaddr_in *)&before);
    struct wire_address wire = address_to_wire(&before);
    address_from_wire(&after, &wire);
    address_name(name, &after);
    ck_assert_str_eq(name, "127.0.0.1:29500");
    uv_ip6_addr("fe80::1:2", 1, (struct sockaddr_in6 *)&before);
    wire = address_to_wire(&before);
    address_from_wire(&after, &wire);
    address_set_port(&after, 65535);
    address_name(name, &after);
    ck_assert_str_eq(name, "fe80::1:2:65535");
    before = address_unix();
    address_set_port(&before, 0x4d);
    wire = address_to_wire(&before);
    address_from_wire(&after, &wire);
    ck_assert_uint_eq(address_port(&after), 0x4d);
    address_name(name, &after);
    ck_assert_str_eq(name, "unix:0004d");
}
END_TEST

/* One field of a good hello is spoiled: {offset, new byte}. */
static const struct {
    size_t at;
    uint8_t byte;
    int expected;
} spoiled_hellos[] = {
    {0, 'G', -EPROTO},        {3, 0, -EPROTO}, // magic
    {4, 1, -EPROTONOSUPPORT},                  // version
    {5, 1, -EPROTONOSUPPORT},                  // version, high byte
    {6, 0, -EPROTO},          {6, 3, -EPROTO}, // purpose
    {7, 1, -EPROTO},                           // purpose, high byte
    {24, 4, -EPROTO},                          // rank = world
    {26, 1, -EPROTO},                          // rank, beyond 16 bits
    {27, 0x80, -EPROTO},                       // rank, were it signed
    {28, 0, -EPROTO},                          // world 0
    {31, 0xff, -EPROTO},                       // world of 4 thousand million
};

START_TEST(a_spoiled_hello_is_refused)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello back;
    wire_put_hello(bytes, &a_hello);
    bytes[spoiled_hellos[_i].at] = spoiled_hellos[_i].byte;
    ck_assert_int_eq(wire_get_hello(&back, bytes), spoiled_hellos[_i].expected);
}
END_TEST

START_TEST(a_hello_is_judged_by_magic_then_version_then_the_rest)
{
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello back;
    wire_put_hello(bytes, &a_hello);
    bytes[4] = bytes[6] = 3; // another version, and a purpose it may have
    ck_assert_int_eq(wire_get_hello(&back, bytes), -EPROTONOSUPPORT);
    bytes[0] = 'G';
    ck_assert_int_eq(wire_get_hello(&back, bytes), -EPROTO);
}
END_TEST

/* Frames that no rank would send. */
static const struct wire_frame hostile_frames[] = {
    {.kind = 0},
    {.kind = 5},
    {.kind = WIRE_DATA, .call = {.operation = COMM_BARRIER + 1}},
    {.kind = WIRE_DATA, .call = {.type = COMM_BF16 + 1}},
    {.kind = WIRE_DATA, .call = {.reduction = COMM_PRODUCT + 1}},
    {.kind = WIRE_DATA, .call = {.algorithm = ALGORITHM_AUTO + 1}},
    {.kind = WIRE_DATA,
     .call = {.type = COMM_F32, .count = 2},
     .length_bytes = 7}, // half an element
    {.kind = WIRE_DATA,
     .call = {.type = COMM_F32, .count = 2},
     .length_bytes = 12}, // more than all
    {.kind = WIRE_DATA, .call = {.type = COMM_F64}, .length_bytes = UINT64_MAX - 7},
    {.kind = WIRE_ABORT, .length_bytes = WIRE_TEXT_MOST + 1},
    {.kind = WIRE_ABORT, .length_bytes = UINT64_MAX},
    {.kind = WIRE_LEAVE, .length_bytes = 1},
    {.kind = WIRE_WAIT, .length_bytes = 1},
};

START_TEST(a_hostile_frame_is_refused)
{
    uint8_t bytes[WIRE_FRAME_BYTES];
    struct wire_frame back;
    wire_put_frame(bytes, &hostile_frames[_i]);
    ck_assert_int_eq(wire_get_frame(&back, bytes), -EPROTO);
}
END_TEST

START_TEST(a_hostile_reply_or_address_is_refused)
{
    static const struct wire_reply replies[] = {
        {WIRE_TABLE, 25},                                                // one and a bit
        {WIRE_TABLE, (ENVIRONMENT_WORLD_MOST + 1) * WIRE_ADDRESS_BYTES}, // more than a world
        {WIRE_TABLE, UINT32_MAX},
        {WIRE_REFUSAL, WIRE_TEXT_MOST + 1},
        {3, 0}};
    uint8_t bytes[WIRE_ADDRESS_BYTES];
    struct wire_reply reply;
    struct wire_address address;
    const struct wire_address hostile[] = {{.family = WIRE_IP4}, // no port
                                           {.family = 5, .port = 1},
                                           {.family = WIRE_IP6, .port = 65536},
                                           {.family = WIRE_UNIX, .port = 0x100000}};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        wire_put_reply(bytes, &replies[i]);
        ck_assert_int_eq(wire_get_reply(&reply, bytes), -EPROTO);
    }
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        wire_put_address(bytes, &hostile[i]);
        ck_assert_int_eq(wire_get_address(&address, bytes), -EPROTO);
    }
}
END_TEST

/* Random bytes, and good messages with random bits turned: what is accepted must be in range. */
START_TEST(whatever_comes_is_refused_or_in_range)
{
    const struct rng rng = {.seed = 1, .stream = RNG_TEST};
    uint8_t bytes[WIRE_HELLO_BYTES];
    struct wire_hello hello;
    struct wire_frame frame;
    for (uint64_t i = 0; i < 100000; i++) {
        wire_put_frame(bytes, &a_frame);
        for (uint64_t k = 0; k < 3; k++)
            bytes[rng_bits(&rng, 6 * i + k) % WIRE_FRAME_BYTES] ^=
                (uint8_t)(1u << rng_bits(&rng, 6 * i + k + 3) % 8);
        if (wire_get_frame(&frame, bytes) == 0) {
            ck_assert(frame.kind >= WIRE_DATA && frame.kind <= WIRE_WAIT);
            ck_assert(frame.call.operation <= COMM_BARRIER && frame.call.type <= COMM_BF16);
            ck_assert(frame.call.algorithm <= ALGORITHM_AUTO);
            ck_assert(frame.call.reduction <= COMM_PRODUCT);
            ck_assert(frame.length_bytes / comm_type_bytes(frame.call.type) <= frame.call.count ||
                      frame.length_bytes <= WIRE_TEXT_MOST);
        }
        wire_put_hello(bytes, &a_hello);
        bytes[rng_bits(&rng, 6 * i) % WIRE_HELLO_BYTES] = (uint8_t)rng_bits(&rng, 6 * i + 1);
        if (wire_get_hello(&hello, bytes) == 0)
            ck_assert(hello.rank < hello.world && hello.world <= ENVIRONMENT_WORLD_MOST);
    }
}
END_TEST

START_TEST(a_text_from_the_wire_is_fit_to_print)
{
    char text[WIRE_TEXT_MOST + 1];
    uint8_t bytes[WIRE_TEXT_MOST + 50];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "a\n\033[31m\0b", 9);
    wire_get_text(text, bytes, 9);
    ck_assert_str_eq(text, "a??[31m?b");
    wire_get_text(text, bytes, sizeof bytes);
    ck_assert_uint_eq(strlen(text), WIRE_TEXT_MOST);
    wire_get_text(text, bytes, 0);
    ck_assert_str_eq(text, "");
}
END_TEST

Suite *wire_suite(void)
{
    Suite *suite = suite_create("wire");
    TCase *tcase = tcase_create("wire");
    tcase_add_test(tcase, a_hello_comes_back_as_it_went);
    tcase_add_test(tcase, a_frame_comes_back_as_it_went);
    tcase_add_test(tcase, the_layout_is_the_same_on_every_machine);
    tcase_add_test(tcase, replies_and_addresses_come_back_as_they_went);
    tcase_add_test(tcase, addresses_of_all_families_survive_the_wire);
    tcase_add_loop_test(tcase, a_spoiled_hello_is_refused, 0,
                        sizeof spoiled_hellos / sizeof *spoiled_hellos);
    tcase_add_test(tcase, a_hello_is_judged_by_magic_then_version_then_the_rest);
    tcase_add_loop_test(tcase, a_hostile_frame_is_refused, 0,
                        sizeof hostile_frames / sizeof *hostile_frames);
    tcase_add_test(tcase, a_hostile_reply_or_address_is_refused);
    tcase_add_test(tcase, whatever_comes_is_refused_or_in_range);
    tcase_add_test(tcase, a_text_from_the_wire_is_fit_to_print);
    suite_add_tcase(suite, tcase);
    return suite;
}
