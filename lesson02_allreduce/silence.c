/*
 * silence: what is done about it when no byte moves.
 *
 *     silence begins .......... a third ............... half .............. timeout
 *     wait.c looks, then        tell all peers that     say in the log      an error that
 *     blocks                    this rank waits too     who is awaited      names the rank
 *
 * When one rank stops, others wait for ranks that wait for it. So whoever was told by the awaited
 * rank that it waits itself is patient for a second more, and hears the news from a rank that was
 * not. Who has never heard of the awaited rank gives half a second: it may still be linking up with
 * others.
 */
#include "lesson02_allreduce/comm_inside.h"

#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>

static const double PATIENCE_SECONDS = 1;

static bool waits_itself(const struct peer *peer)
{
    return peer->waits_silence == peer->comm->silence.number;
}

/* The peer that is waited for: one that has not said that it waits itself, if there is any. */
static const struct peer *awaited(const struct comm *comm)
{
    const struct peer *found = NULL;
    for (int rank = 0; rank < comm->world; rank++) {
        const struct peer *peer = &comm->peers[rank];
        if (!peer->incoming.wanted && !peer->outgoing.wanted)
            continue;
        if (!found || (waits_itself(found) && !waits_itself(peer)))
            found = peer;
    }
    return found;
}

/* For the news that explains the silence. It comes first to those who wait for the culprit itself, also
 * if they have never heard of it. */
static double patience_with(const struct peer *peer)
{
    if (waits_itself(peer))
        return PATIENCE_SECONDS + peer->comm->lag_seconds;
    return peer->link.received_bytes == 0 ? PATIENCE_SECONDS / 2 + peer->comm->lag_seconds : 0;
}

double silence_deadline(const struct comm *comm)
{
    const struct silence *silence = &comm->silence;
    if (!silence->told)
        return silence->since + comm->timeout_seconds / 3;
    if (!silence->logged)
        return silence->since + comm->timeout_seconds / 2;
    return silence->since + comm->timeout_seconds + patience_with(awaited(comm));
}

/* All peers learn that this rank is not the one to blame; but for those whose frame is half sent. */
static void tell_peers(struct comm *comm)
{
    struct wire_frame frame = {
        .kind = WIRE_WAIT, .call = comm->call, .tag = comm->tag, .sequence = comm->sequence};
    comm->silence.told = true;
    for (int rank = 0; rank < comm->world; rank++) {
        struct peer *peer = &comm->peers[rank];
        bool half_sent = peer->outgoing.wanted && peer->outgoing.header_given;
        if (rank == comm->rank || half_sent || peer->waiting.busy || peer->link.error)
            continue;
        link_send(&peer->link, &peer->waiting, &frame, NULL);
    }
}

enum { WHY_TEXT_BYTES = 192 };

/* "rank 2 has not joined, for 10.0 s" */
static void describe_silence(const struct comm *comm, char text[WHY_TEXT_BYTES])
{
    const struct peer *peer = awaited(comm);
    const struct incoming *incoming = &peer->incoming;
    const char *itself = waits_itself(peer) ? ", which waits itself," : "";
    double seconds = clock_seconds() - comm->silence.since;
    if (!incoming->wanted)
        snprintf(text, WHY_TEXT_BYTES,
                 "rank %d%s has taken %zu of %zu bytes of step %" PRIu32 ", and no more for %.1f s",
                 peer->rank, itself, peer->outgoing.given_bytes, peer->outgoing.bytes,
                 peer->outgoing.frames - peer->outgoing.header_given, seconds);
    else if (incoming->frames == 0 && incoming->done_bytes == 0)
        snprintf(text, WHY_TEXT_BYTES,
                 "rank %d%s has not joined for %.1f s (0 of %zu bytes of step 0 have come)",
                 peer->rank, itself, seconds, incoming->expected_bytes);
    else
        snprintf(text, WHY_TEXT_BYTES,
                 "rank %d%s has sent %zu of %zu bytes of step %" PRIu32 ", and no more for %.1f s",
                 peer->rank, itself, incoming->done_bytes, incoming->expected_bytes,
                 incoming->frames, seconds);
}

/* Half of the time is over: whoever watches this job learns whom it waits for. One line, of those
 * ranks that know. */
static void log_silence(struct comm *comm)
{
    char why[WHY_TEXT_BYTES], call[CALL_TEXT_BYTES];
    comm->silence.logged = true;
    if (!comm->log || waits_itself(awaited(comm)))
        return;
    describe_silence(comm, why);
    comm_describe(call, &comm->call, comm->sequence, comm->tag);
    fprintf(comm->log, "rank %d waits in %s: %s; it gives up after %g s\n", comm->rank, call, why,
            comm->timeout_seconds);
    fflush(comm->log);
}

static void record_silence(struct comm *comm)
{
    char why[WHY_TEXT_BYTES];
    describe_silence(comm, why);
    news_record(comm, -ETIMEDOUT, "%s", why);
}

void silence_act(struct comm *comm)
{
    if (!comm->silence.told)
        tell_peers(comm);
    else if (!comm->silence.logged)
        log_silence(comm);
    else if (clock_seconds() >= silence_deadline(comm))
        record_silence(comm);
}
