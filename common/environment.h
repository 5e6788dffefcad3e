/*
 * environment: who am I, how many are we, and where do we meet?
 *
 * Read from the variables PyTorch users know (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * MASTER_ADDR, MASTER_PORT), which `launch` and torchrun set, or from those of Open MPI, MPICH
 * (PMI) and Slurm. Under `launch` two more come along: RENDEZVOUS_FD, the listening socket that
 * was bound before any rank started (rank 0 only), and JOB_TOKEN, 32 hexadecimal digits.
 *
 * The user may set BIND_ADDRESS, an address or an interface of this machine: where a rank other
 * than 0 is reached by the others, if not on the interface that leads to rank 0.
 *
 * With none of them set the program is alone: rank 0 of 1.
 */
#ifndef COMMON_ENVIRONMENT_H
#define COMMON_ENVIRONMENT_H

#include "common/fail.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ENVIRONMENT_ADDRESS_BYTES = 64,
    ENVIRONMENT_TOKEN_BYTES = 16,
    ENVIRONMENT_WORLD_MOST = 1024
};

struct environment {
    int rank, world;
    int local_rank, local_world;
    char master_address[ENVIRONMENT_ADDRESS_BYTES]; // numeric, default 127.0.0.1
    char bind_address[ENVIRONMENT_ADDRESS_BYTES];   // numeric, "": the way to rank 0 decides
    int master_port;                                // 0 only when world is 1
    int rendezvous_fd;                              // -1: none was handed over
    uint8_t token[ENVIRONMENT_TOKEN_BYTES]; // JOB_TOKEN, or of the launcher's own job name, or 0
    bool launched;                          // some launcher set a rank
};

/* 0, or -EINVAL naming the variable, its value, and what it must be. */
int environment_read(struct environment *environment, struct fail *fail);

#endif
