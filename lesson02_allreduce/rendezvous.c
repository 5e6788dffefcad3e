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
    const char *host = environment->master_address;
    struct sockaddr_storage *master = &meeting->master;
    if (uv_ip4_addr(host, environment->master_port, (struct sockaddr_in *)master) == 0 ||
        uv_ip6_addr(host, environment->master_port, (struct sockaddr_in6 *)master) == 0)
        return 0;
    return fail_set(meeting->fail, -EINVAL, "MASTER_ADDR=%s is no numeric address", host);
}

/* The left neighbour is let in by its hello, word for word; nobody else is. */
static void admit_left(struct meeting *meeting, struct guest *guest)
{
    struct wire_hello left = meeting_hello(meeting, WIRE_LINK);
    left.rank = (uint32_t)meeting_left(meeting);
    left.port = guest->hello.port;
    bool same = memcmp(guest->hello.token, left.token, sizeof left.token) == 0 &&
                guest->hello.rank == left.rank && guest->hello.world == left.world &&
                guest->hello.fingerprint == left.fingerprint;
    if (!same || meeting->left_fd >= 0) {
        door_dismiss(guest, "it is not the left neighbour");
        return;
    }
    meeting->left_fd = door_take_socket(guest);
}

void meeting_admit(struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->door.guest_count && !meeting->fail->code; i++) {
        struct guest *guest = &meeting->door.guests[i];
        if (guest->state != GUEST_INTRODUCED)
            continue;
        if (guest->hello.purpose == WIRE_LINK)
            admit_left(meeting, guest);
        else if (meeting->host.seats)
            host_admit(&meeting->host, guest, meeting->fail);
        else
            door_dismiss(guest, "it takes this rank for rank 0");
    }
}

static void call_right(struct meeting *meeting)
{
    struct caller *caller = &meeting->caller;
    char name[ADDRESS_NAME_BYTES];
    struct wire_hello hello = meeting_hello(meeting, WIRE_LINK);
    address_name(name, &meeting->right);
    if (caller->state == CALLER_RESTING && meeting->right_fd < 0)
        caller_call(caller, &meeting->loop, (const struct sockaddr *)&meeting->right,
                    meeting->config->socket_buffer_bytes);
    else if (caller->state == CALLER_CONNECTED)
        caller_say(caller, &hello);
    else if (caller->state == CALLER_ANSWERED)
        meeting->right_fd = caller_take_socket(caller);
    else if (caller->state == CALLER_FAILED)
        fail_set(meeting->fail, caller->error,
                 "rank %d: rank %d had joined, but cannot be reached at %s: %s",
                 meeting->environment->rank, meeting_right(meeting), name,
                 uv_strerror(caller->error));
}

static void link_up(struct meeting *meeting)
{
    int left = meeting_left(meeting);
    meeting->deadline = meeting_now() + meeting->config->timeout_seconds;
    while (!meeting->fail->code && (meeting->left_fd < 0 || meeting->right_fd < 0)) {
        call_right(meeting);
        if (meeting->fail->code)
            return;
        meeting_turn(meeting);
        meeting_admit(meeting);
        if (meeting_now() > meeting->deadline)
            fail_set(meeting->fail, -ETIMEDOUT, "rank %d: rank %d %s within %g s",
                     meeting->environment->rank,
                     meeting->left_fd < 0 ? left : meeting_right(meeting),
                     meeting->left_fd < 0 ? "had joined, but has not linked" : "does not answer",
                     meeting->config->timeout_seconds);
    }
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
    meeting->door.rank = environment->rank;
    meeting->door.log = meeting->config->log;
    meeting->door.buffer_bytes = meeting->config->socket_buffer_bytes;
    error = door_init(&meeting->door, &meeting->loop, (size_t)environment->world);
    if (!error && environment->rank == 0)
        error =
            host_init(&meeting->host, &meeting->door, environment, meeting->config->fingerprint);
    return error ? fail_set(meeting->fail, error, "no memory for %d ranks", environment->world) : 0;
}

/* Answers under way are sent first, so that all others learn what rank 0 knows. */
static void close_meeting(struct meeting *meeting)
{
    if (meeting->loop_open) {
        double until = meeting_now() + LINGER_SECONDS;
        while (door_is_answering(&meeting->door) && meeting_now() < until)
            meeting_turn(meeting);
        door_close(&meeting->door);
        caller_hang_up(&meeting->caller);
        uv_close((uv_handle_t *)&meeting->tick, NULL);
        uv_run(&meeting->loop, UV_RUN_DEFAULT); // until the last handle is closed
        uv_loop_close(&meeting->loop);
    }
    door_release(&meeting->door);
    host_release(&meeting->host);
}

/* Both sockets or none. */
static int hand_over(struct meeting *meeting, int fds[2])
{
    fds[0] = meeting->left_fd;
    fds[1] = meeting->right_fd;
    for (int i = 0; i < 2 && meeting->fail->code; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
    return meeting->fail->code;
}

int rendezvous_meet(const struct environment *environment, const struct comm_config *config,
                    int fds[2], struct fail *fail)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting)
        return fail_set(fail, -ENOMEM, "no memory for %d ranks", environment->world);
    meeting->environment = environment;
    meeting->config = config;
    meeting->fail = fail;
    meeting->left_fd = meeting->right_fd = -1;
    int error = open_meeting(meeting);
    if (!error && environment->rank == 0)
        join_as_host(meeting);
    else if (!error)
        join_as_guest(meeting);
    if (!fail->code)
        link_up(meeting);
    close_meeting(meeting);
    error = hand_over(meeting, fds);
    free(meeting);
    return error;
}
