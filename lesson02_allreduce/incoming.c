/*
 * incoming: bytes from a peer become elements in the caller's memory.
 *
 *     | header | payload ............. | header | ...       the stream
 *      checked   folded or stored, in    the next frame's:
 *      first     whatever pieces come    stays staged until it is wanted
 *
 * Not one byte of a payload is written before its header was found to be exactly the frame that
 * this rank's own call expects: ranks that disagree about a call learn it here.
 */
#include "lesson02_allreduce/comm_inside.h"
#include "lesson02_allreduce/reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* From this size on, stored payloads are read into their place, without a copy. */
enum { DIVERT_LEAST_BYTES = 16 * 1024 };

static bool is_expected(const struct peer *peer, const struct wire_frame *frame)
{
    const struct comm *comm = peer->comm;
    return frame->sequence == comm->sequence && frame->call.operation == comm->call.operation &&
           frame->call.algorithm == comm->call.algorithm && frame->call.type == comm->call.type &&
           frame->call.reduction == comm->call.reduction && frame->call.count == comm->call.count &&
           frame->tag == comm->tag && frame->step == peer->incoming.frames &&
           frame->length_bytes == peer->incoming.expected_bytes;
}

static void record_disagreement(struct peer *peer, const struct wire_frame *frame)
{
    char theirs[CALL_TEXT_BYTES];
    comm_describe(theirs, &frame->call, frame->sequence, frame->tag);
    news_record(peer->comm, -EPROTO,
                "step %" PRIu32 " awaits %zu bytes of rank %d; but rank %d, %s, step %" PRIu32
                " sends %" PRIu64 " bytes. Every rank must make the same calls in the same order",
                peer->incoming.frames, peer->incoming.expected_bytes, peer->rank, peer->rank,
                theirs, frame->step, frame->length_bytes);
}

/* The peer waits itself, before the awaited frame, perhaps still in an earlier call. Should it have
 * waited and stopped since, it is blamed a little later. */
static void take_waiting(struct peer *peer)
{
    peer->waits_silence = peer->comm->silence.number;
    link_consume(&peer->link, WIRE_FRAME_BYTES);
}

static void take_data(struct peer *peer, const struct wire_frame *frame)
{
    struct incoming *incoming = &peer->incoming;
    if (!incoming->wanted) // stays staged until it is
        return;
    if (!is_expected(peer, frame)) {
        record_disagreement(peer, frame);
        return;
    }
    incoming->header_seen = true;
    link_consume(&peer->link, WIRE_FRAME_BYTES);
}

/* Looks at the header that is staged. True when another may follow it at once. */
static bool take_header(struct peer *peer)
{
    const uint8_t *bytes;
    struct wire_frame frame;
    if (peer->comm->fail.code || link_staged(&peer->link, &bytes) < WIRE_FRAME_BYTES)
        return false;
    if (wire_get_frame(&frame, bytes))
        news_record(peer->comm, -EPROTO, "rank %d sent bytes that are no frame", peer->rank);
    else if (frame.kind == WIRE_DATA)
        take_data(peer, &frame);
    else if (frame.kind == WIRE_WAIT)
        take_waiting(peer);
    else
        news_take(peer, &frame);
    return !peer->comm->fail.code && frame.kind == WIRE_WAIT;
}

/* Puts staged bytes into place; of what is folded, whole elements only: the rest waits for its
 * other half. */
static void take_payload(struct peer *peer)
{
    struct incoming *incoming = &peer->incoming;
    const struct comm_call *call = &peer->comm->call;
    const uint8_t *bytes;
    size_t size = comm_type_bytes(call->type);
    size_t part = link_staged(&peer->link, &bytes);
    size_t missing = incoming->expected_bytes - incoming->done_bytes;
    part = part < missing ? part : missing;
    if (incoming->how == COMM_REDUCE) {
        part -= part % size;
        reduce_into(incoming->into + incoming->done_bytes, bytes, part / size, call->type,
                    call->reduction);
    } else if (part > 0) {
        memcpy(incoming->into + incoming->done_bytes, bytes, part);
    }
    incoming->done_bytes += part;
    link_consume(&peer->link, part);
}

static void finish(struct peer *peer)
{
    peer->incoming.wanted = false;
    peer->incoming.frames++;
    peer->comm->transfers--;
    link_divert(&peer->link, NULL, 0);
}

void incoming_advance(struct peer *peer)
{
    struct incoming *incoming = &peer->incoming;
    if (!incoming->wanted || !incoming->header_seen)
        while (take_header(peer))
            ;
    if (peer->comm->fail.code || !incoming->wanted || !incoming->header_seen)
        return;
    size_t before = incoming->done_bytes;
    if (peer->link.divert)
        incoming->done_bytes = incoming->expected_bytes - peer->link.divert_bytes;
    else
        take_payload(peer);
    peer->comm->moved_bytes += incoming->done_bytes - before;
    size_t missing = incoming->expected_bytes - incoming->done_bytes;
    if (missing == 0)
        finish(peer);
    else if (incoming->how == COMM_STORE && missing >= DIVERT_LEAST_BYTES)
        link_divert(&peer->link, incoming->into + incoming->done_bytes, missing);
}
