/*
 * join_guest: the first phase of a rendezvous as every rank but 0 sees it: it calls rank 0 again
 * and again until it is answered. Rank 0 may start later; and who picks up first may be the end of
 * an earlier job.
 *
 * Once connected, a rank leaves the deadline to rank 0, which knows who is missing and tells all:
 * its own comes a little later.
 */
#include "lesson02_allreduce/meeting.h"

#include <errno.h>
#include <string.h>

static const double RETRY_SECONDS = 0.1;
static const double COURTESY_SECONDS = 2; // for rank 0's sentence to arrive

/* Listens where rank 0 is reached from: on one machine the same loopback address, whatever the
 * machine calls itself; on several the interface that leads to rank 0, or the one it was told. */
static void say_hello(struct meeting *meeting)
{
    struct sockaddr_storage here;
    int error = 0;
    if (!meeting->side.open && meeting->environment->rank != 0) {
        error = stream_own_name(&meeting->caller.stream, &here);
        if (!error)
            error = meeting_open_side(meeting, &here);
    }
    struct wire_hello hello = meeting_hello(meeting, WIRE_JOIN);
    if (error)
        fail_set(meeting->fail, error, "rank %d cannot listen: %s", meeting->environment->rank,
                 uv_strerror(error));
    else
        caller_say(&meeting->caller, &hello);
}

/* -EPROTO: not a table of this world. */
static int read_table(struct meeting *meeting)
{
    const struct caller *caller = &meeting->caller;
    const uint8_t *body = caller->answer + WIRE_REPLY_BYTES;
    int world = meeting->environment->world;
    if (caller->reply.length_bytes != (uint32_t)world * WIRE_ADDRESS_BYTES)
        return -EPROTO;
    for (int rank = 0; rank < world; rank++) {
        struct wire_address address;
        if (wire_get_address(&address, body + (size_t)rank * WIRE_ADDRESS_BYTES))
            return -EPROTO;
        address_from_wire(&meeting->table[rank], &address);
        if (rank > 0 || address.family == WIRE_UNIX)
            continue;
        meeting->table[0] = meeting->master; // whatever it calls itself: it was reached here
        address_set_port(&meeting->table[0], address.port);
    }
    return 0;
}

static void read_answer(struct meeting *meeting)
{
    const struct caller *caller = &meeting->caller;
    char text[WIRE_TEXT_MOST + 1];
    if (caller->reply.answer == WIRE_REFUSAL) {
        wire_get_text(text, caller->answer + WIRE_REPLY_BYTES, caller->reply.length_bytes);
        fail_set(meeting->fail, -ECONNREFUSED, "rank %d: rank 0 refuses: %s",
                 meeting->environment->rank, text);
    } else if (read_table(meeting)) {
        fail_set(meeting->fail, -EPROTO, "rank %d: rank 0's table makes no sense",
                 meeting->environment->rank);
    }
}

static void record_absent(struct meeting *meeting, bool seated)
{
    const struct environment *environment = meeting->environment;
    int error = meeting->caller.error;
    const char *how = error ? uv_strerror(error) : "no connection";
    bool other = !seated && (error == UV_EOF || error == UV_EPROTO);
    fail_set(meeting->fail, -ETIMEDOUT,
             "rank %d of %d: rank 0 is missing at %s:%d, for %.1f s (%s)%s", environment->rank,
             environment->world, environment->master_address, environment->master_port,
             meeting_now() - meeting->begun, seated ? "it is connected, but does not answer" : how,
             other ? ". Something answers there: perhaps another program, or rank 0 of a job with "
                     "another JOB_TOKEN"
                   : "");
}

static void call_master(struct meeting *meeting)
{
    const char *bind_address = meeting->environment->bind_address;
    struct sockaddr_storage from;
    struct caller_route route = {.to = (const struct sockaddr *)&meeting->master};
    if (bind_address[0] && meeting->environment->rank != 0 &&
        address_parse(&from, bind_address, 0) == 0)
        route.from = (const struct sockaddr *)&from;
    caller_call(&meeting->caller, &meeting->loop, &route);
}

/* One look at the call to rank 0. False: it is still to be answered. */
static bool advance_call(struct meeting *meeting, double *retry_at)
{
    struct caller *caller = &meeting->caller;
    if (caller->state == CALLER_RESTING && meeting_now() >= *retry_at) {
        call_master(meeting);
    } else if (caller->state == CALLER_CONNECTED) {
        say_hello(meeting);
    } else if (caller->state == CALLER_FAILED) {
        caller_hang_up(caller);
        *retry_at = meeting_now() + RETRY_SECONDS;
    }
    return caller->state == CALLER_ANSWERED;
}

void join_as_guest(struct meeting *meeting)
{
    const struct caller *caller = &meeting->caller;
    double retry_at = 0, give_up_at = meeting->deadline;
    bool seated = false;
    while (!meeting->fail->code && !advance_call(meeting, &retry_at)) {
        bool before = seated;
        seated = caller->state == CALLER_SPEAKING && meeting->environment->rank != 0;
        if (!seated)
            give_up_at = meeting->deadline;
        else if (!before)
            give_up_at = meeting_now() + meeting->config->timeout_seconds + COURTESY_SECONDS;
        meeting_turn(meeting);
        meeting_admit(meeting);
        meeting_report(meeting, seated ? "the other ranks" : "rank 0");
        if (meeting_now() > give_up_at)
            record_absent(meeting, seated);
    }
    if (!meeting->fail->code)
        read_answer(meeting);
    caller_hang_up(&meeting->caller);
}
