/*
 * incoming: bytes from the left neighbour become elements in the caller's memory.
 *
 *     | header | payload ............. | header | ...       the stream
 *      checked   added or stored, in    the next step's:
 *      first     whatever pieces come   stays staged
 *
 * Not one byte of a payload is written before its header was found to be exactly the frame that
 * this rank's own call expects: ranks that disagree about a call learn it here.
 */
#include "lesson02_allreduce/comm_inside.h"
#include "lesson02_allreduce/sum.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* From this size on, stored payloads are read into their place, without a copy. */
enum { DIVERT_LEAST_BYTES = 16 * 1024 };

static bool is_expected(const struct comm *comm, const struct wire_frame *frame)
{
    return frame->sequence == comm->sequence && frame->call.operation == comm->call.operation &&
           frame->call.type == comm->call.type && frame->call.count == comm->call.count &&
           frame->tag == comm->tag && frame->step == comm->incoming.frames &&
           frame->length_bytes == comm->incoming.expected_bytes;
}

static void record_disagreement(struct comm *comm, const struct wire_frame *frame)
{
    char theirs[CALL_TEXT_BYTES];
    comm_describe(theirs, &frame->call, frame->sequence, frame->tag);
    news_record(comm, -EPROTO,
                "step %" PRIu32 " awaits %zu bytes; its left neighbour rank %d, %s, "
                "step %" PRIu32 " sends %" PRIu64
                " bytes. Every rank must make the same calls in the same order",
                comm->incoming.frames, comm->incoming.expected_bytes, comm_left_rank(comm), theirs,
                frame->step, frame->length_bytes);
}

/* Bytes stay in order, so nothing was sent behind it: the left neighbour waits before the awaited
 * frame, perhaps still in an earlier call. Should it have waited and stopped since, it is blamed a
 * little later. */
static void take_waiting(struct comm *comm)
{
    comm->silence.left_waits = true;
    comm->left_waiting_bytes += WIRE_FRAME_BYTES;
    link_consume(&comm->left, WIRE_FRAME_BYTES);
}

/* True once the expected header was found and consumed. */
static bool take_header(struct comm *comm)
{
    const uint8_t *bytes;
    struct wire_frame frame;
    if (link_staged(&comm->left, &bytes) < WIRE_FRAME_BYTES)
        return false;
    int error = wire_get_frame(&frame, bytes);
    if (!error && frame.kind == WIRE_WAIT) {
        take_waiting(comm);
        return take_header(comm);
    }
    if (error || frame.kind == WIRE_LEAVE)
        news_record(comm, -EPROTO, "rank %d sent bytes that are no frame", comm_left_rank(comm));
    else if (frame.kind == WIRE_ABORT)
        news_take(comm, &comm->left, &frame);
    else if (!is_expected(comm, &frame))
        record_disagreement(comm, &frame);
    else
        comm->incoming.header_seen = true;
    if (comm->incoming.header_seen)
        link_consume(&comm->left, WIRE_FRAME_BYTES);
    return comm->incoming.header_seen;
}

/* Puts staged bytes into place; of a sum, whole elements only: the rest waits for its other
 * half. */
static void take_payload(struct comm *comm)
{
    struct incoming *incoming = &comm->incoming;
    const uint8_t *bytes;
    size_t size = comm_type_bytes(comm->call.type);
    size_t part = link_staged(&comm->left, &bytes);
    size_t missing = incoming->expected_bytes - incoming->done_bytes;
    part = part < missing ? part : missing;
    if (incoming->how == COMM_ADD) {
        part -= part % size;
        sum_add(incoming->into + incoming->done_bytes, bytes, part / size, comm->call.type);
    } else if (part > 0) {
        memcpy(incoming->into + incoming->done_bytes, bytes, part);
    }
    incoming->done_bytes += part;
    link_consume(&comm->left, part);
}

void incoming_advance(struct comm *comm)
{
    struct incoming *incoming = &comm->incoming;
    if (comm->fail.code || !incoming->wanted)
        return;
    if (!incoming->header_seen && !take_header(comm))
        return;
    if (comm->left.divert) {
        incoming->done_bytes = incoming->expected_bytes - comm->left.divert_bytes;
    } else {
        take_payload(comm);
    }
    size_t missing = incoming->expected_bytes - incoming->done_bytes;
    if (missing == 0) {
        incoming->wanted = false;
        incoming->frames++;
        link_divert(&comm->left, NULL, 0);
    } else if (incoming->how == COMM_STORE && missing >= DIVERT_LEAST_BYTES) {
        link_divert(&comm->left, incoming->into + incoming->done_bytes, missing);
    }
}
