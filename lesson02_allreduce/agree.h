/*
 * agree: do all ranks hold the same bits?
 *
 * Each rank's hash goes to all. Only where hashes differ is the whole array sent, from rank 0, so
 * that the ranks which differ can say where.
 */
#ifndef LESSON02_AGREE_H
#define LESSON02_AGREE_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

/* Compares a slab (model.count) across ranks; scratch is another. Prints the line. 0, or the
 * communicator's error; a difference is no error: run_judge tells. */
int agree(struct run *run, struct comm *comm, const struct step *step, const char *what,
          const float *slab, float *scratch);

#endif
