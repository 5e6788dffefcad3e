/*
 * launch_options: the launcher's command line, up to the program it starts.
 *
 * The names are torchrun's, so that a habit carries over. Texts point into argv.
 */
#ifndef COMMON_LAUNCH_OPTIONS_H
#define COMMON_LAUNCH_OPTIONS_H

#include "common/environment.h"
#include "common/fail.h"

#include <stdbool.h>
#include <stdio.h>

struct launch_options {
    int ranks;                                      // on this machine
    int nodes, node_rank;                           // machines, and which one this is
    const char *master;                             // node 0 as the user calls it, or NULL
    char master_address[ENVIRONMENT_ADDRESS_BYTES]; // the same, numeric
    int master_port;                                // 0: any free one
    const char *log_dir;                            // NULL: no log files
    double grace_seconds;                           // between SIGTERM and SIGKILL
    int max_restarts;                               // of the whole job after a rank failed
    bool bind;                                      // each rank to cores of its own, if enough
    bool help, version;                             // asked for: print and leave with 0
    char **program;                                 // the program and its arguments, then NULL
};

/* 0, or -EINVAL with the flag, the value, and what it accepts. */
int launch_options_parse(struct launch_options *options, char **argv, struct fail *fail);

void launch_options_help(FILE *out);

#endif
