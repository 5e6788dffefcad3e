/*
 * holder: one rank's state of a small network, cut among any number of ranks, to be saved and loaded by hand.
 *
 * Every element of every kind has a value of its own, so that one that is lost, moved or taken for another shows.
 */
#ifndef TESTS_HOLDER_H
#define TESTS_HOLDER_H

#include "lesson01_single/checkpoint.h"
#include "tests/folder.h"

enum { HOLDER_SLICES_MOST = 4 };

struct holder {
    struct options options;
    struct model model; // 5-7-3: 66 parameters in 4 tensors
    struct memory memory;
    struct sampler sampler;
    struct optimizer optimizer;
    struct loss_scale scale;
    float *param; // the slab
    struct slice owned[HOLDER_SLICES_MOST];
    char save[512];
};

/* Rank `rank` of `world` owns chunk `rank` of three buckets; updates = 7. The folder to save to is `name`. */
void holder_open(struct holder *holder, const struct folder *folder, const char *name,
                 enum optimizer_kind kind, int world, int rank);
void holder_close(struct holder *holder);

void holder_fill(struct holder *holder);

/* The first element that has not the value it was filled with, as a sentence; NULL: there is none. Parameters
 * all, or those owned only. */
const char *holder_differs(const struct holder *holder, bool all);

/* What it saves: what it owns; or wants back: parameters, all or those owned, and the states it owns. */
void holder_checkpoint(struct holder *holder, bool all, int world, int rank,
                       struct checkpoint *checkpoint);

#endif
