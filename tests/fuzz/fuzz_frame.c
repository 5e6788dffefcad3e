/*
 * fuzz_frame: what travels on a link: a frame's header, and the text that bad news carry.
 *
 * The fuzzed bytes (message.h) become a header, and are a text as they are. Promises: an accepted
 * header is encoded to the same bytes, and asks for no more than its call has; a text is short and
 * fit to print; what we write is accepted.
 */
#include "lesson02_allreduce/wire.h"
#include "tests/fuzz/message.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <string.h>

static const struct wire_frame frames[] = {
    {.kind = WIRE_DATA, .call = {.type = COMM_F32, .count = 5}, .length_bytes = 20},
    {.kind = WIRE_DATA,
     .call = {.operation = COMM_BROADCAST, .type = COMM_F64, .count = ((uint64_t)1 << 33) + 5},
     .tag = UINT32_MAX,
     .sequence = (uint64_t)1 << 40,
     .length_bytes = ((uint64_t)1 << 33) + 8},
    {.kind = WIRE_DATA, .call = {.operation = COMM_BARRIER}},
    {.kind = WIRE_ABORT, .length_bytes = WIRE_TEXT_MOST},
    {.kind = WIRE_LEAVE, .sequence = 7},
    {.kind = WIRE_WAIT},
};

static bool is_within_call(const struct wire_frame *frame)
{
    if (frame->kind != WIRE_DATA)
        return frame->length_bytes <= WIRE_TEXT_MOST;
    size_t size = comm_type_bytes(frame->call.type);
    return frame->length_bytes % size == 0 && frame->length_bytes / size <= frame->call.count;
}

static struct verdict judge_frame(const uint8_t bytes[WIRE_FRAME_BYTES], bool ours)
{
    struct wire_frame frame;
    uint8_t again[WIRE_FRAME_BYTES];
    memset(&frame, 0xa5, sizeof frame);
    int code = wire_get_frame(&frame, bytes);
    struct verdict verdict = {.accepted = code == 0};
    if (ours && code != 0)
        verdict.broken = "what we write ourselves is accepted";
    else if (code != 0 && code != -EPROTO)
        verdict.broken = "a refusal is -EPROTO";
    if (code != 0)
        return verdict;
    wire_put_frame(again, &frame);
    if (memcmp(again, bytes, sizeof again) != 0)
        verdict.broken = "what is accepted is encoded to the same bytes";
    else if (!is_within_call(&frame))
        verdict.broken = "an accepted frame carries whole elements, no more than its call has";
    return verdict;
}

static const char *judge_text(const uint8_t *bytes, size_t size)
{
    char text[WIRE_TEXT_MOST + 1];
    memset(text, 0xa5, sizeof text);
    wire_get_text(text, bytes, size);
    size_t length = size < WIRE_TEXT_MOST ? size : WIRE_TEXT_MOST;
    if (strnlen(text, sizeof text) != length)
        return "a text is as long as what came, up to the most";
    for (size_t i = 0; i < length; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] != 127;
        if ((uint8_t)text[i] != (plain ? bytes[i] : '?'))
            return "a text is what came, its control bytes apart";
    }
    return NULL;
}

struct verdict fuzz_frame(const uint8_t *data, size_t size)
{
    uint8_t bytes[WIRE_FRAME_BYTES];
    size_t which;
    bool same = false;
    if (message_which(data, size, sizeof frames / sizeof *frames, &which)) {
        wire_put_frame(bytes, &frames[which]);
        same = message_turn(bytes, sizeof bytes, data, size);
    } else {
        message_copy(bytes, sizeof bytes, data, size);
    }
    struct verdict verdict = judge_frame(bytes, same);
    if (!verdict.broken)
        verdict.broken = judge_text(data, size);
    return verdict;
}
