/*
 * launch_job: N ranks from their start to the end of the last one.
 *
 *     RUNNING --a rank fails--> FAILING --0.1 s--> STOPPING --grace--> KILLED
 *        |                                  ^          |                  |
 *        |--- Ctrl-C, SIGTERM, SIGHUP ------'          |                  |
 *        '-------------- no rank is left --------------+--> DRAINING <----'
 *
 * FAILING waits for the neighbours of a rank that died, so that the cause is chosen among all of
 * them (launch_cause.h). STOPPING has sent SIGTERM, KILLED SIGKILL, both to the whole group.
 * DRAINING passes on what is still in the pipes and, when a process that a rank has started keeps
 * one open, waits until nothing more comes. Whatever happens, no process is left.
 */
#ifndef COMMON_LAUNCH_JOB_H
#define COMMON_LAUNCH_JOB_H

#include "common/fail.h"
#include "common/launch_options.h"

#include <stdbool.h>

/* Codes with a meaning of their own: of the launcher, and of ranks, which lessons return too. */
enum launch_code { LAUNCH_USAGE = 2, LAUNCH_NOT_EQUAL = 3, LAUNCH_CANNOT_START = 127 };

/* Runs the job, which was started `restart` times before, prints what its ranks print, and in the
 * end why it failed. Sets *code to what the launcher should return, and *again when a rank failed and
 * the job may be started once more. 0, or a negative error when it could not be started. */
int launch_job_run(const struct launch_options *options, int restart, int *code, bool *again,
                   struct fail *fail);

#endif
