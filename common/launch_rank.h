/*
 * launch_rank: one process of the job, from fork to exec.
 *
 * What a rank is given: its numbers and the meeting point in the environment, pipes for output and
 * error, /dev/null for input, a place in the keeper's process group, default signals, cores of its
 * own. Nothing else of the launcher's is open in it, but for rank 0 the listening socket.
 */
#ifndef COMMON_LAUNCH_RANK_H
#define COMMON_LAUNCH_RANK_H

#include "common/fail.h"
#include "common/launch_plan.h"

#include <sys/types.h>

struct launch_process {
    pid_t pid;
    int out, err; // reading ends of its output and error
};

/* In the process group `group`. Returns once the program runs: 0; -ENOEXEC when it cannot be
 * started (and why); or another negative error when the system gives no process or pipe. */
int launch_rank_start(const struct launch_plan *plan, int local_rank, pid_t group,
                      struct launch_process *process, struct fail *fail);

#endif
