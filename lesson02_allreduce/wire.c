/*
 * wire: structs to bytes and back. See the header for the layouts.
 *
 * Fields are written and read one by one, so neither padding nor the machine's byte order shows.
 */
#include "lesson02_allreduce/wire.h"

#include <errno.h>
#include <string.h>

static const uint32_t HELLO_MAGIC = 0x52495453; // "STIR": the staircase's ring
static const uint32_t REPLY_MAGIC = 0x59525453; // "STRY"
static const uint32_t FRAME_MAGIC = 0x4d465453; // "STFM"
static const uint16_t VERSION = 2;

/* Writes the low `size` bytes of value and moves on. */
static void put(uint8_t **at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *(*at)++ = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t **at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t) * (*at)++ << (8 * i);
    return value;
}

void wire_put_hello(uint8_t bytes[WIRE_HELLO_BYTES], const struct wire_hello *hello)
{
    // task 02.2 {
    uint8_t *at = bytes;
    put(&at, HELLO_MAGIC, 4);
    put(&at, VERSION, 2);
    put(&at, hello->purpose, 2);
    memcpy(at, hello->token, sizeof hello->token);
    at += sizeof hello->token;
    put(&at, hello->rank, 4);
    put(&at, hello->world, 4);
    put(&at, hello->fingerprint, 8);
    put(&at, hello->port, 4);
    // } 02.2
}

int wire_get_hello(struct wire_hello *hello, const uint8_t bytes[WIRE_HELLO_BYTES])
{
    // task 02.2 {
    const uint8_t *at = bytes;
    if (get(&at, 4) != HELLO_MAGIC)
        return -EPROTO;
    if (get(&at, 2) != VERSION)
        return -EPROTONOSUPPORT;
    uint64_t purpose = get(&at, 2);
    memcpy(hello->token, at, sizeof hello->token);
    at += sizeof hello->token;
    hello->rank = (uint32_t)get(&at, 4);
    hello->world = (uint32_t)get(&at, 4);
    hello->fingerprint = get(&at, 8);
    hello->port = (uint32_t)get(&at, 4);
    if (purpose != WIRE_JOIN && purpose != WIRE_LINK)
        return -EPROTO;
    hello->purpose = (enum wire_purpose)purpose;
    if (hello->world > ENVIRONMENT_WORLD_MOST || hello->rank >= hello->world)
        return -EPROTO;
    return 0;
    // } 02.2
}

void wire_put_reply(uint8_t bytes[WIRE_REPLY_BYTES], const struct wire_reply *reply)
{
    uint8_t *at = bytes;
    put(&at, REPLY_MAGIC, 4);
    put(&at, VERSION, 2);
    put(&at, reply->answer, 2);
    put(&at, reply->length_bytes, 4);
}

int wire_get_reply(struct wire_reply *reply, const uint8_t bytes[WIRE_REPLY_BYTES])
{
    const uint8_t *at = bytes;
    if (get(&at, 4) != REPLY_MAGIC)
        return -EPROTO;
    if (get(&at, 2) != VERSION)
        return -EPROTONOSUPPORT;
    uint64_t answer = get(&at, 2);
    reply->length_bytes = (uint32_t)get(&at, 4);
    if (answer == WIRE_TABLE && (reply->length_bytes % WIRE_ADDRESS_BYTES != 0 ||
                                 reply->length_bytes / WIRE_ADDRESS_BYTES > ENVIRONMENT_WORLD_MOST))
        return -EPROTO;
    if (answer == WIRE_REFUSAL && reply->length_bytes > WIRE_TEXT_MOST)
        return -EPROTO;
    if (answer != WIRE_TABLE && answer != WIRE_REFUSAL)
        return -EPROTO;
    reply->answer = (enum wire_answer)answer;
    return 0;
}

void wire_put_address(uint8_t bytes[WIRE_ADDRESS_BYTES], const struct wire_address *address)
{
    uint8_t *at = bytes;
    put(&at, address->family, 4);
    put(&at, address->port, 4);
    memcpy(at, address->bytes, sizeof address->bytes);
}

int wire_get_address(struct wire_address *address, const uint8_t bytes[WIRE_ADDRESS_BYTES])
{
    const uint8_t *at = bytes;
    uint64_t family = get(&at, 4);
    address->port = (uint32_t)get(&at, 4);
    memcpy(address->bytes, at, sizeof address->bytes);
    if (family != WIRE_UNIX && family != WIRE_IP4 && family != WIRE_IP6)
        return -EPROTO;
    uint32_t most = family == WIRE_UNIX ? 0xfffff : 0xffff;
    if (address->port == 0 || address->port > most)
        return -EPROTO;
    address->family = (enum wire_family)family;
    return 0;
}

void wire_put_frame(uint8_t bytes[WIRE_FRAME_BYTES], const struct wire_frame *frame)
{
    uint8_t *at = bytes;
    put(&at, FRAME_MAGIC, 4);
    put(&at, frame->kind, 1);
    put(&at, frame->call.operation, 1);
    put(&at, frame->call.algorithm, 1);
    put(&at, frame->call.type, 1);
    put(&at, frame->call.reduction, 1);
    put(&at, 0, 3);
    put(&at, frame->tag, 4);
    put(&at, frame->step, 4);
    put(&at, frame->sequence, 8);
    put(&at, frame->call.count, 8);
    put(&at, frame->length_bytes, 8);
}

/* What each kind of frame may carry. */
static int check_length(const struct wire_frame *frame)
{
    if (frame->kind == WIRE_LEAVE || frame->kind == WIRE_WAIT)
        return frame->length_bytes == 0 ? 0 : -EPROTO;
    if (frame->kind == WIRE_ABORT)
        return frame->length_bytes <= WIRE_TEXT_MOST ? 0 : -EPROTO;
    size_t size = comm_type_bytes(frame->call.type);
    bool whole = frame->length_bytes % size == 0;
    return whole && frame->length_bytes / size <= frame->call.count ? 0 : -EPROTO;
}

int wire_get_frame(struct wire_frame *frame, const uint8_t bytes[WIRE_FRAME_BYTES])
{
    const uint8_t *at = bytes;
    if (get(&at, 4) != FRAME_MAGIC)
        return -EPROTO;
    uint64_t kind = get(&at, 1), operation = get(&at, 1), algorithm = get(&at, 1);
    uint64_t type = get(&at, 1), reduction = get(&at, 1);
    if (kind < WIRE_DATA || kind > WIRE_WAIT || operation > COMM_BARRIER)
        return -EPROTO;
    if (algorithm > ALGORITHM_AUTO || type > COMM_BF16 || reduction > COMM_PRODUCT)
        return -EPROTO;
    if (get(&at, 3) != 0)
        return -EPROTO;
    frame->kind = (enum wire_kind)kind;
    frame->call.operation = (enum comm_operation)operation;
    frame->call.algorithm = (enum algorithm)algorithm;
    frame->call.type = (enum comm_type)type;
    frame->call.reduction = (enum comm_reduction)reduction;
    frame->tag = (uint32_t)get(&at, 4);
    frame->step = (uint32_t)get(&at, 4);
    frame->sequence = get(&at, 8);
    frame->call.count = get(&at, 8);
    frame->length_bytes = get(&at, 8);
    return check_length(frame);
}

void wire_get_text(char text[WIRE_TEXT_MOST + 1], const uint8_t *bytes, size_t length_bytes)
{
    size_t length = length_bytes < WIRE_TEXT_MOST ? length_bytes : WIRE_TEXT_MOST;
    for (size_t i = 0; i < length; i++)
        text[i] = bytes[i] >= ' ' && bytes[i] != 127 ? (char)bytes[i] : '?';
    text[length] = 0;
}
