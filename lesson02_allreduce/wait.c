/*
 * wait: runs the loop until all transfers are done, or never will be.
 *
 * First it only looks, a bounded number of times and for a bounded time, giving the processor away
 * in between: with ranks on one machine the bytes are mostly a few microseconds off. Then it
 * blocks, with a deadline. The deadline is one of silence (silence.c): a slow peer is waited for as
 * long as bytes keep moving.
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
#include <time.h>

enum { LOOKS_MOST = 100 };
static const double LOOKING_SECONDS = 0.002; // on a busy machine, a hundred looks may take a second

/* Sleeps before slowed bytes are due: in the loop; of the system; and not at all any more, for to wake
 * up takes some time as well. */
static const double LOOP_SLEEPS_SECONDS = 0.0025, LOOP_EARLY_SECONDS = 0.0015;
static const double NAP_SECONDS = 0.00025, NAP_EARLY_SECONDS = 0.00008;

/* Reads what has come, and sees of it what is due. */
static void turn(struct comm *comm)
{
    uv_run(&comm->loop, UV_RUN_NOWAIT);
    if (comm->slow)
        comm->due_seconds = slow_show(comm->slow);
}

static void look(struct comm *comm)
{
    turn(comm);
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
            bytes += link_queued_bytes(&comm->peers[rank].link);
    return bytes;
}

/* Sleeps until something happens on a link, or so many seconds have passed. */
static void sleep_in_loop(struct comm *comm, double seconds)
{
    arm(comm, fmax(seconds, 0));
    uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
}

static void nap(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL);
}

/* Sleeps until bytes of a slowed link are due, or a little less. The loop counts milliseconds and
 * sees links meanwhile; the system's sleep is exact and sees none, so it is kept short. */
static void sleep_until_due(struct comm *comm)
{
    double seconds = comm->due_seconds - clock_seconds();
    if (seconds > LOOP_SLEEPS_SECONDS)
        sleep_in_loop(comm, seconds - LOOP_EARLY_SECONDS);
    else if (seconds > NAP_EARLY_SECONDS)
        nap(fmin(seconds - NAP_EARLY_SECONDS, NAP_SECONDS));
    else
        sched_yield();
    comm->time_is_up = false;
}

/* Sleeps until something happens on a link, or it is time to do something about the silence. */
static void block(struct comm *comm)
{
    uint64_t moved = comm->moved_bytes;
    double deadline = silence_deadline(comm);
    watch_wait(comm);
    if (comm->due_seconds < deadline)
        sleep_until_due(comm);
    else
        sleep_in_loop(comm, deadline - clock_seconds());
    look(comm); // after a long sleep: this very process may have been stopped, and all be there
    size_t queued = queued_bytes(comm);
    bool moves = comm->moved_bytes != moved || queued != comm->silence.queued_bytes;
    comm->silence.queued_bytes = queued;
    if (moves)
        comm->silence.since = clock_seconds();
    else if (comm->time_is_up && comm->transfers > 0 && !comm->trouble && !comm->fail.code)
        silence_act(comm);
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
    turn(comm);
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
    int looks_most = comm->slow ? 1 : LOOKS_MOST; // slowed bytes are never a few microseconds off
    if (silence->looks == looks_most || now > silence->since + LOOKING_SECONDS) {
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
    else
        watch_go(comm);
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
