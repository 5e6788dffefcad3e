/* rendezvous: join, then link. See the header. */
#include "lesson02_allreduce/rendezvous.h"
#include "lesson02_allreduce/meeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double LINGER_SECONDS = 1;

static int find_master(struct meeting *meeting)
{
    const struct environment *environment = meeting->environment;
    int error =
        address_parse(&meeting->master, environment->master_address, environment->master_port);
    return error ? fail_set(meeting->fail, error, "MASTER_ADDR=%s is no numeric address",
                            environment->master_address)
                 : 0;
}

/* A rank above this one is let in by its hello, word for word; nobody else is, and nobody twice. */
static void admit_link(struct meeting *meeting, struct guest *guest)
{
    struct wire_hello own = meeting_hello(meeting, WIRE_LINK);
    const struct wire_hello *hello = &guest->hello;
    bool ours = hello->purpose == WIRE_LINK && hello->world == own.world &&
                hello->fingerprint == own.fingerprint &&
                memcmp(hello->token, own.token, sizeof own.token) == 0;
    if (!ours || hello->rank <= own.rank)
        door_dismiss(guest, "it is no rank of this job that should link up here");
    else if (meeting->fds[hello->rank] >= 0)
        door_dismiss(guest, "a rank of its number has linked up already");
    else
        meeting->fds[hello->rank] = door_take_socket(guest);
}

static void admit_member(struct meeting *meeting, struct guest *guest)
{
    if (guest->hello.purpose == WIRE_JOIN)
        host_admit(&meeting->host, guest, meeting->fail);
    else
        door_dismiss(guest, "it came to the wrong door");
}

static void admit_at(struct meeting *meeting, struct door *door,
                     void (*admit)(struct meeting *meeting, struct guest *guest))
{
    for (size_t i = 0; i < door->guest_count && !meeting->fail->code; i++)
        if (door->guests[i].state == GUEST_INTRODUCED)
            admit(meeting, &door->guests[i]);
}

void meeting_admit(struct meeting *meeting)
{
    admit_at(meeting, &meeting->front, admit_member);
    admit_at(meeting, &meeting->side, admit_link);
}

static void record_unreachable(struct meeting *meeting, int rank)
{
    char name[ADDRESS_NAME_BYTES];
    int error = meeting->caller.error;
    bool unix_links = meeting->config->transport == COMM_UNIX;
    address_name(name, &meeting->table[rank]);
    fail_set(meeting->fail, error, "rank %d: rank %d had joined, but cannot be reached at %s: %s%s",
             meeting->environment->rank, rank, name, uv_strerror(error),
             unix_links ? ". Unix sockets reach no other machine or container: try --transport tcp"
                        : "");
}

/* One look at the call to a rank below this one. */
static void call_below(struct meeting *meeting, int rank)
{
    struct caller *caller = &meeting->caller;
    struct wire_hello hello = meeting_hello(meeting, WIRE_LINK);
    struct caller_route route = {.to = (const struct sockaddr *)&meeting->table[rank],
                                 .buffer_bytes = meeting->config->socket_buffer_bytes};
    if (caller->state == CALLER_RESTING)
        caller_call(caller, &meeting->loop, &route);
    if (caller->state == CALLER_CONNECTED)
        caller_say(caller, &hello);
    else if (caller->state == CALLER_ANSWERED)
        meeting->fds[rank] = caller_take_socket(caller);
    else if (caller->state == CALLER_FAILED && caller->error == UV_EAGAIN)
        caller_hang_up(caller); // too many call at once: again
    else if (caller->state == CALLER_FAILED)
        record_unreachable(meeting, rank);
}

/* The lowest rank there is no link to yet, or the world. */
static int first_unlinked(const struct meeting *meeting)
{
    int rank = 0, world = meeting->environment->world;
    while (rank < world && (rank == meeting->environment->rank || meeting->fds[rank] >= 0))
        rank++;
    return rank;
}

/* Each rank calls the ranks below it, one after another, and is called by those above. */
static void link_up(struct meeting *meeting)
{
    int own = meeting->environment->rank;
    meeting->deadline = meeting_now() + meeting->config->timeout_seconds;
    for (int rank; !meeting->fail->code; meeting_admit(meeting)) {
        rank = first_unlinked(meeting);
        if (rank == meeting->environment->world)
            return;
        if (rank < own)
            call_below(meeting, rank);
        if (meeting->fail->code || (rank < own && meeting->fds[rank] >= 0))
            continue;
        meeting_turn(meeting);
        if (meeting_now() > meeting->deadline)
            fail_set(meeting->fail, -ETIMEDOUT, "rank %d: rank %d %s within %g s", own, rank,
                     rank > own ? "had joined, but has not linked up" : "does not answer",
                     meeting->config->timeout_seconds);
    }
}

static void set_door(struct meeting *meeting, struct door *door)
{
    door->rank = meeting->environment->rank;
    door->log = meeting->config->log;
    door->buffer_bytes = meeting->config->socket_buffer_bytes;
}

static int make_room(struct meeting *meeting)
{
    const struct environment *environment = meeting->environment;
    size_t world = (size_t)environment->world;
    set_door(meeting, &meeting->front);
    set_door(meeting, &meeting->side);
    meeting->table = calloc(world, sizeof *meeting->table);
    if (!meeting->table || door_init(&meeting->side, &meeting->loop, world))
        return -ENOMEM;
    if (environment->rank != 0)
        return 0;
    int error = door_init(&meeting->front, &meeting->loop, world);
    return error ? error
                 : host_init(&meeting->host, &meeting->front, environment,
                             meeting->config->fingerprint);
}

static int open_meeting(struct meeting *meeting)
{
    const struct environment *environment = meeting->environment;
    int error = find_master(meeting);
    if (error)
        return error;
    error = uv_loop_init(&meeting->loop);
    if (error)
        return fail_set(meeting->fail, error, "no event loop: %s", uv_strerror(error));
    meeting->loop_open = true;
    meeting_start_clock(meeting);
    error = make_room(meeting);
    return error ? fail_set(meeting->fail, error, "no memory for %d ranks", environment->world) : 0;
}

/* Answers under way are sent first, so that all others learn what rank 0 knows. */
static void close_meeting(struct meeting *meeting)
{
    if (meeting->loop_open) {
        double until = meeting_now() + LINGER_SECONDS;
        while (door_is_answering(&meeting->front) && meeting_now() < until)
            meeting_turn(meeting);
        door_close(&meeting->front);
        door_close(&meeting->side);
        caller_hang_up(&meeting->caller);
        uv_close((uv_handle_t *)&meeting->tick, NULL);
        uv_run(&meeting->loop, UV_RUN_DEFAULT); // until the last handle is closed
        uv_loop_close(&meeting->loop);
    }
    door_release(&meeting->front);
    door_release(&meeting->side);
    host_release(&meeting->host);
}

int rendezvous_check(const struct comm_config *config, struct fail *fail)
{
    if (config->transport != COMM_MPI)
        return 0;
    return fail_set(fail, -EINVAL,
                    "--transport: mpi is not in this program; build it with 'make MPI=1' and start "
                    "build/mpi's with mpirun");
}

int rendezvous_meet(const struct environment *environment, const struct comm_config *config,
                    int *fds, struct fail *fail)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting)
        return fail_set(fail, -ENOMEM, "no memory for %d ranks", environment->world);
    meeting->environment = environment;
    meeting->config = config;
    meeting->fail = fail;
    meeting->fds = fds;
    for (int rank = 0; rank < environment->world; rank++)
        fds[rank] = -1;
    int error = open_meeting(meeting);
    if (!error && environment->rank == 0)
        join_as_host(meeting);
    else if (!error)
        join_as_guest(meeting);
    if (!fail->code)
        link_up(meeting);
    close_meeting(meeting);
    free(meeting->table);
    free(meeting);
    return fail->code;
}
