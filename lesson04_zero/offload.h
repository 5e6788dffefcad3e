/*
 * offload: the optimizer's state in a file, and in stage 3 the parameters. --offload DIR.
 *
 * Between two updates nobody needs the state, and during one every element is needed once, in order.
 * So it need not be in memory: it lies in a file (statefile.h) and passes through three tiles
 * (tiles.h) while the update is made. What the update does to an element is the same function, so
 * every bit is the same; what changes is that all of the state is read and written in every update.
 *
 *     in memory, of this rank     | parameters | gradients | 3 tiles of each state |
 *     in DIR                                               | m of all it owns | v of all it owns |
 *
 * In stage 3 a rank's parameters are needed a second time, for its chunk of a bucket that is about to be
 * gathered: they are one array more in the file, updated with the states and read chunk by chunk.
 *
 * ZeRO-Offload (Ren et al., USENIX ATC 2021) keeps it in the memory of the host instead of a GPU's;
 * ZeRO-Infinity (Rajbhandari et al., SC 2021) on disks, as here.
 */
#ifndef LESSON04_OFFLOAD_H
#define LESSON04_OFFLOAD_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"
#include "lesson04_zero/tiles.h"

struct offload {
    bool on; // --offload was given
    struct tiles tiles;
    size_t states;               // arrays of them in the file
    struct optimizer *optimizer; // the run's
    struct comm *comm;           // to tell the others of an error
    struct optimizer_store store, param_store;
};

/* For the slices that the optimizer will own; before run_start, which puts states into it. In stage 3 it holds
 * the parameters a run begins with. Does nothing unless the options ask for it. 0, or an error that run->fail and, later, all ranks tell. */
int offload_init(struct offload *offload, struct run *run, struct comm *comm,
                 const struct slice *owned, size_t owned_count);
void offload_release(struct offload *offload); // accepts a zeroed struct

/* What offload_init takes of MEMORY_OPTIMIZER for so many owned elements. */
size_t offload_bytes(const struct options *options, size_t count);

/* optimizer_step, through the file. A step that is to be skipped touches nothing. 0, or an error that
 * run->fail and, at their next call, all other ranks tell. */
int offload_step(struct offload *offload, struct run *run, struct rate rate);

#endif
