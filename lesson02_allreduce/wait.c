/*
 * wait: runs the loop until a step is done, or never will be.
 *
 * First it only looks, a bounded number of times, giving the processor away in between: with ranks
 * on one machine the bytes are mostly a few microseconds off. Then it blocks, with a deadline. The
 * deadline is one of silence: a slow neighbour is waited for as long as bytes keep moving.
 *
 * Before it believes the worst, a neighbour's closing or the clock, it looks once more: the news
 * that explains it may be there already.
 */
#include "lesson02_allreduce/comm_inside.h"

#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>

enum { LOOKS_MOST = 100 };

static bool is_done(const struct comm *comm)
{
    return !comm->incoming.wanted && !comm->outgoing.parcel.busy;
}

/* Grows whenever a byte moves on any link. */
static uint64_t bytes_moved(const struct comm *comm)
{
    size_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&comm->right.stream);
    return comm->left.received_bytes + comm->right.received_bytes + comm->sent_bytes - queued;
}

static void look(struct comm *comm)
{
    uv_run(&comm->loop, UV_RUN_NOWAIT);
}

static void on_timer(uv_timer_t *timer)
{
    struct comm *comm = timer->data;
    comm->time_is_up = true;
}

static void arm(struct comm *comm, double seconds)
{
    comm->time_is_up = false;
    uv_update_time(&comm->loop);
    uv_timer_start(&comm->timer, on_timer, (uint64_t)(seconds * 1000), 0);
}

static void record_silence(struct comm *comm, double seconds)
{
    const struct incoming *incoming = &comm->incoming;
    if (!incoming->wanted)
        news_record(
            comm, -ETIMEDOUT,
            "rank %d has not taken the %zu bytes of step %" PRIu32 "; nothing has moved for %.1f s",
            comm_right_rank(comm), comm->outgoing.bytes, comm->outgoing.frames - 1, seconds);
    else
        news_record(
            comm, -ETIMEDOUT,
            "rank %d has sent %zu of %zu bytes of step %" PRIu32 "; nothing has moved for %.1f s%s",
            comm_left_rank(comm), incoming->done_bytes, incoming->expected_bytes, incoming->frames,
            seconds, comm->outgoing.parcel.busy ? ", and the right neighbour takes nothing" : "");
}

/* Sleeps until something happens on a link, or the deadline has passed. */
static void block(struct comm *comm)
{
    double since = clock_seconds();
    uint64_t moved = bytes_moved(comm);
    arm(comm, comm->timeout_seconds);
    uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
    if (!comm->time_is_up)
        return;
    look(comm); // this very process may have been stopped, and all be there
    if (!is_done(comm) && bytes_moved(comm) == moved)
        record_silence(comm, clock_seconds() - since);
}

static bool is_right_broken(const struct comm *comm)
{
    if (comm->outgoing.parcel.error)
        return true;
    if (comm->right_gone)
        return comm->right_sequence < comm->sequence;
    return comm->right.error != 0;
}

static void record_right_broken(struct comm *comm)
{
    int error = comm->outgoing.parcel.error ? comm->outgoing.parcel.error : comm->right.error;
    if (comm->right_gone)
        news_record(comm, -ECONNRESET,
                    "rank %d left after call %" PRIu64 ", before this one was done",
                    comm_right_rank(comm), comm->right_sequence);
    else
        news_record(comm, -ECONNRESET, "rank %d closed the connection (%s)", comm_right_rank(comm),
                    uv_strerror(error));
}

/* A broken link is an error when this step, or this call, still needs what is behind it. */
static void judge(struct comm *comm)
{
    bool left_broken = comm->incoming.wanted && comm->left.error;
    if (!left_broken && !is_right_broken(comm))
        return;
    look(comm);
    if (comm->incoming.wanted && comm->left.error)
        news_record(comm, -ECONNRESET,
                    "rank %d closed the connection after %zu of %zu bytes of step %" PRIu32 " (%s)",
                    comm_left_rank(comm), comm->incoming.done_bytes, comm->incoming.expected_bytes,
                    comm->incoming.frames, uv_strerror(comm->left.error));
    else if (is_right_broken(comm))
        record_right_broken(comm);
}

int wait_step(struct comm *comm)
{
    uint64_t moved = bytes_moved(comm);
    int looks = 0;
    judge(comm);
    while (!comm->fail.code && !is_done(comm)) {
        if (looks++ < LOOKS_MOST)
            look(comm);
        else
            block(comm);
        judge(comm);
        if (bytes_moved(comm) != moved)
            looks = 0;
        else if (looks < LOOKS_MOST)
            sched_yield();
        moved = bytes_moved(comm);
    }
    if (comm->fail.code)
        news_spread(comm);
    return comm->fail.code;
}

static bool is_sent(const struct comm *comm)
{
    return !comm->news_left.busy && !comm->news_right.busy && !comm->outgoing.parcel.busy;
}

void wait_sent(struct comm *comm, double seconds)
{
    arm(comm, seconds);
    while (!is_sent(comm) && !comm->time_is_up)
        uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
}
