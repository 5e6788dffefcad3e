/*
 * join_host: the first phase of a rendezvous as rank 0 sees it: it is called, and waits until
 * everyone has come, or until it is clear that they never will.
 */
#include "lesson02_allreduce/meeting.h"

#include <errno.h>
#include <string.h>

static const double KNOCK_SECONDS = 1;

/* The port is taken. If it is by another rank 0 of this job, that one will say so; if it is by
 * another job that is just meeting, it is free again soon. */
static int knock(struct meeting *meeting)
{
    double deadline = meeting->deadline;
    struct fail *fail = meeting->fail;
    struct fail answer = {0};
    door_close(&meeting->front);
    meeting->deadline = meeting_now() + KNOCK_SECONDS;
    meeting->fail = &answer;
    join_as_guest(meeting);
    meeting->fail = fail;
    meeting->deadline = deadline;
    return answer.code == -ECONNREFUSED ? fail_set(fail, answer.code, "%s", answer.text) : 0;
}

static int listen_as_host(struct meeting *meeting)
{
    const struct environment *environment = meeting->environment;
    const struct sockaddr *master = (const struct sockaddr *)&meeting->master;
    struct door *door = &meeting->front;
    int error = environment->rendezvous_fd >= 0 ? door_take_over(door, environment->rendezvous_fd)
                                                : door_listen(door, master);
    if (error == UV_EADDRINUSE) {
        if (knock(meeting))
            return meeting->fail->code;
        error = door_listen(door, master);
    }
    if (error == UV_EADDRINUSE)
        fail_set(meeting->fail, error,
                 "rank 0 cannot listen at %s:%d: %s. Another program has this port, or a second "
                 "rank 0 was started: choose another MASTER_PORT, or check RANK",
                 environment->master_address, environment->master_port, uv_strerror(error));
    else if (error)
        fail_set(meeting->fail, error, "rank 0 cannot listen at %s:%d: %s",
                 environment->master_address, environment->master_port, uv_strerror(error));
    return meeting->fail->code;
}

static void record_missing(struct meeting *meeting, const char *missing)
{
    const struct environment *environment = meeting->environment;
    const struct host *host = &meeting->host;
    char twice[64] = "";
    if (host->twice >= 0)
        snprintf(twice, sizeof twice, "; rank %d came twice", host->twice);
    fail_set(meeting->fail, -ETIMEDOUT, "%s of %d %s not come to %s:%d within %g s%s", missing,
             environment->world, environment->world - host->seated == 1 ? "has" : "have",
             environment->master_address, environment->master_port,
             meeting->config->timeout_seconds, twice);
}

/* Rank 0's own table: the one it sends to all. */
static void keep_table(struct meeting *meeting)
{
    for (int rank = 1; rank < meeting->environment->world; rank++) {
        struct wire_address address = host_address(&meeting->host, rank);
        address_from_wire(&meeting->table[rank], &address);
    }
}

static int open_side(struct meeting *meeting)
{
    struct sockaddr_storage here;
    int error = stream_own_name(&meeting->front.listener, &here);
    if (!error)
        error = meeting_open_side(meeting, &here);
    if (error)
        return fail_set(meeting->fail, error, "rank 0 cannot listen for links: %s",
                        uv_strerror(error));
    meeting->host.link_port = door_port(&meeting->side);
    meeting->host.unix_links = meeting->config->transport == COMM_UNIX;
    return 0;
}

void join_as_host(struct meeting *meeting)
{
    struct host *host = &meeting->host;
    char missing[HOST_RANKS_BYTES];
    if (listen_as_host(meeting) || open_side(meeting))
        return;
    while (!meeting->fail->code && host->seated < meeting->environment->world) {
        meeting_turn(meeting);
        host_sweep(host);
        meeting_admit(meeting);
        host_missing(host, missing);
        meeting_report(meeting, missing);
        if (host->seated < meeting->environment->world && meeting_now() > meeting->deadline)
            record_missing(meeting, missing);
    }
    if (meeting->fail->code) {
        host_send_refusal(host, meeting->fail->text);
    } else {
        host_send_table(host);
        keep_table(meeting);
    }
}
