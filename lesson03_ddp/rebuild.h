/*
 * rebuild: buckets planned anew, once, in the order gradients really became ready.
 *
 * The first plan is a guess: the reverse of registration. Where backward finishes tensors in another
 * order, a bucket waits for its last tensor, and all behind it wait too:
 *
 *     ready     fc3.bias   fc2.bias     fc3.weight       (fc2 uses fc3.weight as well)
 *     planned   fc3.bias   fc3.weight   fc2.bias         fc2.bias is ready, and waits
 *
 * So after the first step rank 0 sends the order it saw to all, and every rank plans from that one:
 * what the ranks saw may differ, what they send must not. PyTorch does the same
 * (Reducer::rebuild_buckets).
 */
#ifndef LESSON03_REBUILD_H
#define LESSON03_REBUILD_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/ddp.h"

/* Between ddp_wait and ddp_begin of the first step, on every rank; later calls do nothing. Rank 0
 * says what changed, or that nothing did. 0 or the communicator's error. */
int rebuild(struct ddp *ddp, struct run *run);

#endif
