/*
 * launch_plan: what all ranks of this machine have in common, settled before the first one starts.
 */
#ifndef COMMON_LAUNCH_PLAN_H
#define COMMON_LAUNCH_PLAN_H

#include "common/environment.h"
#include "common/fail.h"
#include "common/launch_options.h"

#include <stdbool.h>

enum { LAUNCH_TOKEN_TEXT = 2 * ENVIRONMENT_TOKEN_BYTES + 1 };

struct launch_plan {
    int local_world, world, first_rank; // first_rank + i is the rank with LOCAL_RANK i
    const char *master_address;
    int master_port;
    int listener;                  // where rank 0 will meet the others, or -1: not on this machine
    char token[LAUNCH_TOKEN_TEXT]; // "": JOB_TOKEN stays as the user set it
    int threads;                   // BLAS threads per rank, where the user set none
    int restart;                   // how many times the job was started before
    bool bind;                     // each rank to cores of its own (launch_cores.h)
    char **program;                // with its arguments, NULL at the end
};

/* Listens at the job's port and draws its token. 0, or a negative error. Texts are the options'. */
int launch_plan_make(struct launch_plan *plan, const struct launch_options *options, int restart,
                     struct fail *fail);

/* Closes the socket: a rank that has it keeps it, alone, so that it ends with that rank. */
void launch_plan_release(struct launch_plan *plan);

/* BLAS threads for `local_world` ranks: the cores this process may use, shared out, at least 1. */
int launch_plan_threads(int local_world);

#endif
