/*
 * manifest: what a rank is about to train: its parameters by name and shape, and how many samples.
 *
 * Ranks are given the same options, but --data names a file that each reads for itself. Where it is
 * not the same file on every machine, a rank may have other inputs or classes, and so other
 * tensors; or other batches.
 */
#ifndef LESSON03_MANIFEST_H
#define LESSON03_MANIFEST_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

#include <stdint.h>

enum { MANIFEST_ITEMS_MOST = MODEL_TENSORS_MOST + 2, MANIFEST_TEXT_BYTES = 256 };

struct manifest_item {
    char name[32];       // "fc1.weight", "training samples"; "": there is none
    uint64_t dimensions; // 0: a number of samples
    uint64_t shape[2];
};

/* Unused bytes are 0, so that equal manifests have equal hashes. */
struct manifest {
    struct manifest_item items[MANIFEST_ITEMS_MOST]; // tensors as registered, then samples
};

struct manifest manifest_of(const struct run *run);

/* False: they are equal. Else `text` names the first item that differs, and what either has. */
bool manifest_difference(const struct manifest *rank_0s, const struct manifest *other, int rank,
                         char text[MANIFEST_TEXT_BYTES]);

/* Compares all ranks' manifests with rank 0's. 0, the communicator's error, or, on every rank
 * alike, -EINVAL that run->fail tells: the first rank that differs, and in what. */
int manifest_compare(struct run *run, struct comm *comm);

#endif
