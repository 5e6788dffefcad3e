/*
 * wait: runs the loop until all transfers are done, or never will be.
 *
 * First it only looks, a bounded number of times and for a bounded time, giving the processor away
 * in between: with ranks on one machine the bytes are mostly a few microseconds off. Then it
 * blocks, with a deadline. The deadline is one of silence: a slow peer is waited for as long as
 * bytes keep moving.
 *
 *     silence begins .......... a third ............... half .............. timeout
 *     look, then block          tell all peers that     say in the log      an error that
 *                               this rank waits too     who is awaited      names the rank
 *
 * When one rank stops, others wait for ranks that wait for it. So whoever was told by the awaited
 * rank that it waits itself is patient for a second more, and hears the news from a rank that was
 * not.
 *
 * Before it believes the worst, a peer's closing or the clock, it looks once more: the news that
 * explains it may be there already.
 */
#include "lesson02_allreduce/comm_inside.h"

#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>

enum { LOOKS_MOST = 100 };
static const double LOOKING_SECONDS = 0.002; // on a busy machine, a hundred looks may take a second
static const double PATIENCE_SECONDS = 1;

static void look(struct comm *comm)
{
    uv_run(&comm->loop, UV_RUN_NOWAIT);
    for (int rank = 0; rank < comm->world; rank++)
        outgoing_advance(&comm->peers[rank]);
}

static void on_timer(uv_timer_t *timer)
{
    struct comm *comm = timer->data;
    comm->time_is_up = true;
}

/* Repeats: a timer that is due at once is run before UV_RUN_ONCE polls, and were it the last one,
 * the poll would have no end. */
static void arm(struct comm *comm, double seconds)
{
    static const uint64_t again_milliseconds = 1;
    comm->time_is_up = false;
    uv_update_time(&comm->loop);
    uv_timer_start(&comm->timer, on_timer, (uint64_t)(seconds * 1000), again_milliseconds);
}

/* Bytes that were given to links, and that the system has not taken yet. */
static size_t queued_bytes(const struct comm *comm)
{
    size_t bytes = 0;
    for (int rank = 0; rank < comm->world; rank++)
        if (comm->peers[rank].outgoing.parcel.busy)
            bytes += uv_stream_get_write_queue_size(&comm->peers[rank].link.stream.uv);
    return bytes;
}

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

/* When this silence is worth doing something about. */
static double next_deadline(const struct comm *comm)
{
    const struct silence *silence = &comm->silence;
    if (!silence->told)
        return silence->since + comm->timeout_seconds / 3;
    if (!silence->logged)
        return silence->since + comm->timeout_seconds / 2;
    bool patient = waits_itself(awaited(comm));
    return silence->since + comm->timeout_seconds + (patient ? PATIENCE_SECONDS : 0);
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

static void act_on_silence(struct comm *comm)
{
    if (!comm->silence.told)
        tell_peers(comm);
    else if (!comm->silence.logged)
        log_silence(comm);
    else if (clock_seconds() >= next_deadline(comm))
        record_silence(comm);
}

/* Sleeps until something happens on a link, or it is time to do something about the silence. */
static void block(struct comm *comm)
{
    uint64_t moved = comm->moved_bytes;
    arm(comm, fmax(next_deadline(comm) - clock_seconds(), 0));
    uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
    look(comm); // after a long sleep: this very process may have been stopped, and all be there
    size_t queued = queued_bytes(comm);
    bool moves = comm->moved_bytes != moved || queued != comm->silence.queued_bytes;
    comm->silence.queued_bytes = queued;
    if (moves)
        comm->silence.since = clock_seconds();
    else if (comm->time_is_up && comm->transfers > 0 && !comm->trouble && !comm->fail.code)
        act_on_silence(comm);
}

static bool left_early(const struct peer *peer)
{
    return peer->gone && peer->sequence < peer->comm->sequence;
}

/* A link that ended is an error, unless the peer has said goodbye and this call lacks nothing of
 * it. */
static bool is_broken(const struct peer *peer)
{
    if (left_early(peer) || peer->outgoing.parcel.error)
        return true;
    return peer->link.error && (!peer->gone || peer->incoming.wanted);
}

static void record_broken(struct peer *peer)
{
    const struct incoming *incoming = &peer->incoming;
    int error = peer->link.error ? peer->link.error : peer->outgoing.parcel.error;
    if (left_early(peer))
        news_record(peer->comm, -ECONNRESET,
                    "rank %d left after call %" PRIu64 ", before this one was done", peer->rank,
                    peer->sequence);
    else if (incoming->wanted)
        news_record(peer->comm, -ECONNRESET,
                    "rank %d closed the connection after %zu of %zu bytes of step %" PRIu32 " (%s)",
                    peer->rank, incoming->done_bytes, incoming->expected_bytes, incoming->frames,
                    uv_strerror(error));
    else
        news_record(peer->comm, -ECONNRESET, "rank %d closed the connection (%s)", peer->rank,
                    uv_strerror(error));
}

/* A writer may learn that a link is broken before what the peer said last has been read. */
static void search_news(struct comm *comm)
{
    for (int rank = 0; rank < comm->world; rank++) {
        struct peer *peer = &comm->peers[rank];
        bool in_payload = peer->incoming.wanted && peer->incoming.header_seen;
        peer->suspect = is_broken(peer);
        if (peer->link.error && !peer->gone && !in_payload)
            news_search(peer);
    }
}

/* Something is wrong with a link. Bad news that says why comes first, whoever brings it: only a link
 * that was broken before the loop ran once more is believed to be. */
static void judge(struct comm *comm)
{
    search_news(comm);
    comm->trouble = false;
    uv_run(&comm->loop, UV_RUN_NOWAIT);
    for (int rank = 0; rank < comm->world && !comm->fail.code; rank++) {
        struct peer *peer = &comm->peers[rank];
        bool broken = is_broken(peer);
        if (broken && peer->suspect)
            record_broken(peer);
        comm->trouble = comm->trouble || broken;
    }
}

static void look_or_block(struct comm *comm)
{
    struct silence *silence = &comm->silence;
    double now = clock_seconds();
    if (silence->since == 0)
        silence->since = now;
    if (silence->looks == LOOKS_MOST || now > silence->since + LOOKING_SECONDS) {
        block(comm);
        return;
    }
    if (silence->looks++ > 0)
        sched_yield();
    look(comm);
}

int comm_wait(struct comm *comm)
{
    if (!comm->loop_open) // alone, or dead
        return comm->fail.code;
    uint64_t moved = comm->moved_bytes - 1; // a silence begins now
    while (!comm->fail.code && (comm->transfers > 0 || comm->trouble)) {
        if (comm->moved_bytes != moved)
            comm->silence = (struct silence){.number = comm->silence.number + 1};
        moved = comm->moved_bytes;
        if (comm->trouble)
            judge(comm);
        else
            look_or_block(comm);
    }
    if (comm->fail.code)
        news_spread(comm);
    return comm->fail.code;
}

static bool is_sent(const struct comm *comm)
{
    for (int rank = 0; rank < comm->world; rank++) {
        const struct peer *peer = &comm->peers[rank];
        if (peer->news.busy || peer->waiting.busy || peer->outgoing.parcel.busy)
            return false;
    }
    return true;
}

void wait_sent(struct comm *comm, double seconds)
{
    arm(comm, seconds);
    while (!is_sent(comm) && !comm->time_is_up)
        uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
}
