/*
 * launch_keeper: the process that outlives the launcher, so that nothing else does.
 *
 * A signal that cannot be caught (SIGKILL) leaves the launcher no time to clean up. So a small
 * process leads the process group every rank is put into, and reads a pipe that only the launcher
 * can close, by leaving in whatever way. Then it kills the whole group, itself included:
 *
 *     launch ---pipe---> keeper     } one process group: ranks, and whatever they start
 *        '--fork--> rank 0, 1, ...  }
 *
 * A group needs no privilege and no Linux call. Left out: a process that leaves the group by its
 * own will (setsid) escapes it.
 */
#ifndef COMMON_LAUNCH_KEEPER_H
#define COMMON_LAUNCH_KEEPER_H

#include "common/fail.h"

#include <stdbool.h>
#include <sys/types.h>

struct launch_keeper {
    pid_t group; // the group's number, and the keeper's own; 0: none
    int pipe;    // its reading end is the keeper's
};

/* 0, or a negative error. Call it before anything else is open that the keeper should not hold. */
int launch_keeper_start(struct launch_keeper *keeper, struct fail *fail);

/* To every process of the group. The keeper itself minds nothing but SIGKILL. */
void launch_keeper_signal(const struct launch_keeper *keeper, int number);

/* The keeper has gone although nobody killed the group: reaps it. */
bool launch_keeper_lost(struct launch_keeper *keeper);

/* Kills what is left of the group and reaps the keeper. Accepts a zeroed keeper. */
void launch_keeper_end(struct launch_keeper *keeper);

/* A pipe that no program started from here inherits by accident. 0, or a negative errno. */
int launch_pipe(int ends[2]);

#endif
