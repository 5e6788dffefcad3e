/*
 * against_single: lesson 2's proof. Is the ring's gradient lesson 1's?
 *
 * Every rank replays, alone, what lesson 1 computes of every rank's share:
 *
 *     gradient after the ring   =   lesson 1's shares, added in ring order       bit for bit
 *                               ~   lesson 1's gradient of the whole batch       within the bound
 *                               =   what every other rank holds                  bit for bit
 *
 * The first is exact because the shares are computed by the same code from the same bits and added
 * in the same order. The second is not: the whole batch is added sample by sample, in another
 * order.
 */
#ifndef LESSON02_AGAINST_SINGLE_H
#define LESSON02_AGAINST_SINGLE_H

#include "lesson01_single/bound.h"
#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

struct against_single {
    struct trainer replay; // takes any rank's share, or the whole batch
    float *shares;         // (world, count)
    float *sum;            // (count): the shares, added in ring order
    float *before;         // (count): sum, one step earlier
    struct bound bound;
    struct memory *memory;
    size_t steps; // proved so far
};

/* `of` has the parameters in a slab: the run's trainer, but for ZeRO. Takes no memory when nothing is to be
 * verified. 0 or -ENOMEM. Release accepts a zeroed struct. */
int against_single_init(struct against_single *against, struct run *run, const struct trainer *of);
void against_single_release(struct against_single *against);

/* After the reduction, before the update. 0; the communicator's error; or, on every rank alike, an
 * error when a comparison failed on any. */
int against_single_gradient(struct against_single *against, struct run *run, struct comm *comm,
                            const struct step *step);

/* One line: the slices of the gradient that `owned` names, those of the run's optimizer or all, ~ lesson 1's
 * gradient of the whole batch. */
void against_single_whole(struct against_single *against, struct run *run, const struct step *step,
                          const struct slice *owned, size_t owned_count);

/* After the update: do all ranks hold the same parameters? The same errors. */
int against_single_parameters(struct against_single *against, struct run *run, struct comm *comm,
                              const struct step *step);

#endif
