/*
 * rendezvous: processes that know only rank 0's address become a ring of connected sockets.
 *
 *     1. join     each rank opens a listener of its own, calls rank 0, says who it is and where it
 *                 listens; when all have come, rank 0 answers each with the table of addresses
 *     2. link     each rank calls its right neighbour, and is called by its left one
 *
 *          join: 1 --> 0 <-- 2          link: 0 --> 1 --> 2 --> 0
 *
 * Listeners are closed when both links stand. Whoever is not of the job is dropped (see door.h).
 */
#ifndef LESSON02_RENDEZVOUS_H
#define LESSON02_RENDEZVOUS_H

#include "lesson02_allreduce/comm.h"

/* For a world of 2 or more. fds = {left, right}, connected, close-on-exec, the caller's. Rank 0
 * takes over environment->rendezvous_fd when there is one. 0, or a negative error; fail names who
 * is missing, who came twice or whose configuration differs; nothing is left open then. */
int rendezvous_meet(const struct environment *environment, const struct comm_config *config,
                    int fds[2], struct fail *fail);

#endif
