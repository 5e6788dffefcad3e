/*
 * meeting: a rendezvous while it lasts: what its two phases, and its two roles, share.
 *
 *     rendezvous.c  the phases: join, link, and tidying up
 *     join_*.c      joining, as rank 0 that is called and as a rank that calls
 *     meeting.c     time: turns of the loop, the clock, progress lines
 */
#ifndef LESSON02_MEETING_H
#define LESSON02_MEETING_H

#include "lesson02_allreduce/caller.h"
#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/door.h"
#include "lesson02_allreduce/host.h"

#include <stdbool.h>

struct meeting {
    const struct environment *environment;
    const struct comm_config *config;
    struct fail *fail; // the first error ends the meeting

    uv_loop_t loop;
    bool loop_open;
    uv_timer_t tick; // wakes the loop, so that clock and retries are looked at
    double begun, deadline, progress_at;

    struct sockaddr_storage master; // where rank 0 is joined
    struct sockaddr_storage *table; // (world): where each rank listens for links
    struct door front;              // rank 0 only: where the others join
    struct door side;               // where ranks above this one link up
    struct host host;               // rank 0 only
    struct caller caller;
    int *fds; // (world): the links; -1: not yet
};

/* What this rank says of itself; the port is where its side door is. */
struct wire_hello meeting_hello(const struct meeting *meeting, enum wire_purpose purpose);

double meeting_now(void);
void meeting_start_clock(struct meeting *meeting);

/* Runs the loop until something happens, for a moment at most. */
void meeting_turn(struct meeting *meeting);

/* Every few seconds, a line to the log: whom this rank waits for, and how long still. */
void meeting_report(struct meeting *meeting, const char *whom);

/* Listens for links: on the interface of `here`, or on a Unix socket. 0 or a negative error. */
int meeting_open_side(struct meeting *meeting, const struct sockaddr_storage *here);

/* Deals with every guest that has introduced itself. */
void meeting_admit(struct meeting *meeting);

/* Both end with meeting->table filled in, or with meeting->fail set. */
void join_as_host(struct meeting *meeting);
void join_as_guest(struct meeting *meeting);

#endif
