/* call: one collective call, made of transfers: from comm_begin to comm_end. See comm.h for what the verbs
 * promise, comm_inside.h for the parts. */
#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/comm_inside.h"

#include <assert.h>
#include <inttypes.h>

static const char *const operation_names[] = {"reduce-scatter", "all-gather", "all-reduce",
                                              "broadcast", "barrier"};
static const char *const type_names[] = {"f32", "f64", "i32", "i64", "u8", "bf16"};
static const size_t type_bytes[] = {4, 8, 4, 8, 1, 2};
static const char *const reduction_names[] = {"sum", "min", "max", "product"};

size_t comm_type_bytes(enum comm_type type)
{
    return type_bytes[type];
}

void comm_describe(char text[CALL_TEXT_BYTES], const struct comm_call *call, uint64_t sequence,
                   uint32_t tag)
{
    bool reduces = call->operation == COMM_ALLREDUCE || call->operation == COMM_REDUCE_SCATTER;
    snprintf(text, CALL_TEXT_BYTES,
             "call %" PRIu64 ": %s %s of %" PRIu64 " %s (%s%stag %" PRIu32 ")", sequence,
             algorithm_name(call->algorithm), operation_names[call->operation], call->count,
             type_names[call->type], reduces ? reduction_names[call->reduction] : "",
             reduces ? ", " : "", tag);
}

void comm_tag(struct comm *comm, uint32_t tag)
{
    comm->tag = tag;
}

int comm_begin(struct comm *comm, const struct comm_call *call)
{
    if (comm->fail.code)
        return comm->fail.code;
    assert(!comm->in_call && comm->transfers == 0);
    comm->in_call = true;
    comm->sequence++;
    comm->call = *call;
    for (int rank = 0; rank < comm->world && comm->peers; rank++) {
        struct peer *peer = &comm->peers[rank];
        peer->incoming.frames = peer->outgoing.frames = 0;
        comm->trouble = comm->trouble || peer->gone || peer->link.error;
    }
    return 0;
}

static void send_paced(struct comm *comm, int to, const void *data, size_t count,
                       const struct incoming *pacer)
{
    if (comm->fail.code)
        return;
    struct peer *peer = &comm->peers[to];
    struct outgoing *outgoing = &peer->outgoing;
    assert(comm->in_call && to != comm->rank && !outgoing->wanted);
    outgoing->wanted = true;
    outgoing->header_given = false;
    outgoing->from = data;
    outgoing->bytes = count * comm_type_bytes(comm->call.type);
    outgoing->given_bytes = 0;
    outgoing->pacer = pacer;
    comm->transfers++;
    comm->sent_bytes += WIRE_FRAME_BYTES + outgoing->bytes;
    comm->sent_messages++;
    outgoing_advance(peer);
}

void comm_send(struct comm *comm, int to, const void *data, size_t count)
{
    send_paced(comm, to, data, count, NULL);
}

void comm_receive(struct comm *comm, int from, void *data, size_t count, enum comm_receive how)
{
    if (comm->fail.code)
        return;
    struct peer *peer = &comm->peers[from];
    struct incoming *incoming = &peer->incoming;
    assert(comm->in_call && from != comm->rank && !incoming->wanted);
    incoming->wanted = true;
    incoming->header_seen = false;
    incoming->into = data;
    incoming->how = how;
    incoming->expected_bytes = count * comm_type_bytes(comm->call.type);
    incoming->done_bytes = 0;
    comm->transfers++;
    incoming_advance(peer);
}

int comm_exchange(struct comm *comm, const struct comm_step *step)
{
    if (comm->fail.code || comm->world == 1)
        return comm->fail.code;
    comm_receive(comm, step->from, step->receive, step->receive_count, step->how);
    send_paced(comm, step->to, step->send, step->send_count, &comm->peers[step->from].incoming);
    return comm_wait(comm);
}

int comm_end(struct comm *comm)
{
    comm->in_call = false;
    return comm->fail.code;
}
