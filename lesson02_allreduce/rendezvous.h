/*
 * rendezvous: processes that know only rank 0's address become a mesh of connected sockets.
 *
 *     1. join     each rank opens a listener of its own, calls rank 0, says who it is and where it
 *                 listens; when all have come, rank 0 answers each with the table of addresses
 *     2. link     each rank calls every rank below it, and is called by every rank above
 *
 *          join: 1 --> 0 <-- 2          link: 1 --> 0 <-- 2, 2 --> 1
 *
 * Joining is by TCP; links are TCP or Unix-domain sockets. Listeners are closed when all links
 * stand. Whoever is not of the job is dropped (see door.h).
 */
#ifndef LESSON02_RENDEZVOUS_H
#define LESSON02_RENDEZVOUS_H

#include "lesson02_allreduce/comm.h"

/* 0, or -EINVAL: what this build cannot do, and which can. */
int rendezvous_check(const struct comm_config *config, struct fail *fail);

/* For a world of 2 or more. fds (world): to each rank, connected, close-on-exec, the caller's; this
 * rank's own is -1. Rank 0 takes over environment->rendezvous_fd when there is one. 0, or a negative
 * error; fail names who is missing, who came twice or whose configuration differs, and fds are the
 * links that stood by then, -1 for the others. */
int rendezvous_meet(const struct environment *environment, const struct comm_config *config,
                    int *fds, struct fail *fail);

#endif
