/*
 * tuning: a choice of algorithms in a file, for one world and one transport.
 *
 *     staircase tuning 1, world 4, transport unix
 *     up to 16384 direct
 *     any ring
 *
 * Sizes are bytes of the whole vector. Nothing else is accepted: a file that was meant for other
 * ranks, or that is damaged, would choose badly and in silence.
 */
#ifndef LESSON02_TUNING_H
#define LESSON02_TUNING_H

#include "common/fail.h"
#include "lesson02_allreduce/choice.h"
#include "lesson02_allreduce/comm.h"

/* Whom a choice is for. */
struct tuning {
    int world;
    enum comm_transport transport;
};

/* Before a measurement that tuning_write() ends: -EEXIST where anything but a tuning file is there,
 * else what keeps a file from being written. Changes nothing. */
int tuning_check(const char *path, struct fail *fail);

/* Writes beside the path and renames: a file is whole or not there. 0 or a negative errno. */
int tuning_write(const struct tuning *tuning, const struct choice *choice, const char *path,
                 struct fail *fail);

/* -EINVAL: not ours, of another world or transport, or damaged; fail names file and line. */
int tuning_read(const struct tuning *tuning, struct choice *choice, const char *path,
                struct fail *fail);

#endif
