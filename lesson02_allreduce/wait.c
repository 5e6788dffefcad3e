/*
 * wait: runs the loop until a step is done, or never will be.
 *
 * First it only looks, a bounded number of times and for a bounded time, giving the processor away
 * in between: with ranks on one machine the bytes are mostly a few microseconds off. Then it
 * blocks, with a deadline. The deadline is one of silence: a slow neighbour is waited for as long
 * as bytes keep moving.
 *
 * When one rank of a ring stops, all others wait, each for its left neighbour, and only one of them
 * for the right culprit. So each tells its right neighbour, at half time, that it waits itself;
 * whoever was told so is patient for a second more, and hears the news from the rank that was not.
 *
 * Before it believes the worst, a neighbour's closing or the clock, it looks once more: the news
 * that explains it may be there already.
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

static bool is_done(const struct comm *comm)
{
    return !comm->incoming.wanted && !comm->outgoing.parcel.busy;
}

/* Grows whenever a byte moves on any link. */
static uint64_t bytes_moved(const struct comm *comm)
{
    size_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&comm->right.stream);
    return comm->left.received_bytes - comm->left_waiting_bytes + comm->right.received_bytes +
           comm->sent_bytes - queued;
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

/* Repeats: a timer that is due at once is run before UV_RUN_ONCE polls, and were it the last one,
 * the poll would have no end. */
static void arm(struct comm *comm, double seconds)
{
    static const uint64_t again_milliseconds = 1;
    comm->time_is_up = false;
    uv_update_time(&comm->loop);
    uv_timer_start(&comm->timer, on_timer, (uint64_t)(seconds * 1000), again_milliseconds);
}

/* When this silence is worth doing something about. */
static double next_deadline(const struct comm *comm)
{
    const struct silence *silence = &comm->silence;
    if (!silence->told_right)
        return silence->since + comm->timeout_seconds / 2;
    bool patient = silence->left_waits && comm->incoming.wanted;
    return silence->since + comm->timeout_seconds + (patient ? PATIENCE_SECONDS : 0);
}

/* Half of the time is over: the right neighbour learns that this rank is not the one to blame. */
static void tell_right(struct comm *comm)
{
    struct wire_frame frame = {.kind = WIRE_WAIT,
                               .call = comm->call,
                               .tag = comm->tag,
                               .step = comm->outgoing.frames, // not sent yet
                               .sequence = comm->sequence};
    comm->silence.told_right = true;
    if (!comm->outgoing.parcel.busy && !comm->waiting.busy)
        link_send(&comm->right, &comm->waiting, &frame, NULL);
}

static void record_silence(struct comm *comm)
{
    const struct incoming *incoming = &comm->incoming;
    double seconds = clock_seconds() - comm->silence.since;
    if (incoming->wanted)
        news_record(comm, -ETIMEDOUT,
                    "rank %d%s has sent %zu of %zu bytes of step %" PRIu32
                    "; nothing has moved for %.1f s",
                    comm_left_rank(comm), comm->silence.left_waits ? ", which waits itself," : "",
                    incoming->done_bytes, incoming->expected_bytes, incoming->frames, seconds);
    else
        news_record(
            comm, -ETIMEDOUT,
            "rank %d has not taken the %zu bytes of step %" PRIu32 "; nothing has moved for %.1f s",
            comm_right_rank(comm), comm->outgoing.bytes, comm->outgoing.frames - 1, seconds);
}

/* Sleeps until something happens on a link, or it is time to do something about the silence. */
static void block(struct comm *comm)
{
    uint64_t moved = bytes_moved(comm);
    arm(comm, fmax(next_deadline(comm) - clock_seconds(), 0));
    uv_run(&comm->loop, UV_RUN_ONCE);
    uv_timer_stop(&comm->timer);
    if (!comm->time_is_up)
        return;
    look(comm); // this very process may have been stopped, and all be there
    if (is_done(comm) || bytes_moved(comm) != moved)
        return;
    if (!comm->silence.told_right)
        tell_right(comm);
    else if (clock_seconds() >= next_deadline(comm))
        record_silence(comm);
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

int wait_step(struct comm *comm)
{
    uint64_t moved = bytes_moved(comm);
    comm->silence = (struct silence){0};
    judge(comm);
    while (!comm->fail.code && !is_done(comm)) {
        look_or_block(comm);
        judge(comm);
        if (bytes_moved(comm) != moved)
            comm->silence = (struct silence){0};
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
