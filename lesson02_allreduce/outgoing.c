/*
 * outgoing: a frame on its way to a peer, in pieces.
 *
 *     | header | given to the link | may go | must wait for the pacer |
 *                       given_bytes          pacer->done_bytes + head_start_bytes
 *
 * When two ranks swap large vectors, each could fill the other's socket buffers, megabytes ahead of
 * what is read. Those bytes have left every cache when their turn comes, and TCP closes its window,
 * waits, opens it again: on a loopback link that is three times slower than to keep step. So a
 * paced frame never runs more than a head start ahead of what came in. Nobody waits for ever:
 * everyone may send that much before he has heard anything. The ranks of one machine share its
 * caches, so they share the head start too.
 */
#include "lesson02_allreduce/comm_inside.h"

/* A piece is written at once, between two looks at what has come in. */
enum { PIECE_BYTES = 256 * 1024 };

/* How far in the payload this frame may go at this moment. */
static size_t limit_of(const struct peer *peer)
{
    const struct outgoing *outgoing = &peer->outgoing;
    const struct incoming *pacer = outgoing->pacer;
    if (!pacer || !pacer->wanted)
        return outgoing->bytes;
    size_t limit = pacer->done_bytes + peer->comm->head_start_bytes;
    return limit < outgoing->bytes ? limit : outgoing->bytes;
}

static void begin(struct peer *peer, size_t now_bytes)
{
    struct comm *comm = peer->comm;
    struct outgoing *outgoing = &peer->outgoing;
    struct wire_frame frame = {.kind = WIRE_DATA,
                               .call = comm->call,
                               .tag = comm->tag,
                               .step = outgoing->frames++,
                               .sequence = comm->sequence,
                               .length_bytes = outgoing->bytes};
    outgoing->header_given = true;
    link_begin(&peer->link, &outgoing->parcel, &frame, outgoing->from, now_bytes);
}

static void give(struct peer *peer, size_t now_bytes)
{
    struct outgoing *outgoing = &peer->outgoing;
    if (!outgoing->header_given)
        begin(peer, now_bytes);
    else
        link_send_more(&peer->link, &outgoing->parcel, outgoing->from + outgoing->given_bytes,
                       now_bytes);
    outgoing->given_bytes += now_bytes;
    peer->comm->moved_bytes += now_bytes;
}

static void finish(struct peer *peer)
{
    peer->outgoing.wanted = false;
    peer->comm->transfers--;
}

void outgoing_advance(struct peer *peer)
{
    struct outgoing *outgoing = &peer->outgoing;
    if (!outgoing->wanted || outgoing->parcel.busy)
        return;
    size_t may = limit_of(peer) - outgoing->given_bytes;
    if (!outgoing->parcel.error && (may > 0 || !outgoing->header_given))
        give(peer, may < PIECE_BYTES ? may : PIECE_BYTES);
    if (outgoing->parcel.error)
        peer->comm->trouble = true;
    else if (!outgoing->parcel.busy && outgoing->given_bytes == outgoing->bytes)
        finish(peer);
}

bool outgoing_flush(struct peer *peer)
{
    const struct outgoing *outgoing = &peer->outgoing;
    size_t left = outgoing->bytes - outgoing->given_bytes;
    if (!outgoing->wanted || !outgoing->header_given || left == 0)
        return true;
    if (peer->waiting.busy)
        return false;
    link_send_more(&peer->link, &peer->waiting, outgoing->from + outgoing->given_bytes, left);
    return true;
}
