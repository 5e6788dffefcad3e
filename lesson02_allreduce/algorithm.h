/*
 * algorithm: the ways to add up a vector over all ranks, by name.
 */
#ifndef LESSON02_ALGORITHM_H
#define LESSON02_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>

enum algorithm {
    ALGORITHM_RING,    // chunks from neighbour to neighbour: every link always busy
    ALGORITHM_ROOT,    // all to rank 0 and back: the parameter server's shape
    ALGORITHM_TREE,    // the same in log2 R rounds, ranks halving each time
    ALGORITHM_HALVING, // vectors halving each round, distances doubling
    ALGORITHM_DIRECT,  // every chunk straight to the rank that adds it up
    ALGORITHM_AUTO,    // whichever is fastest for the size and the world
};

/* "ring", "root", ...: as the command line calls it. */
const char *algorithm_name(enum algorithm algorithm);

/* Direct sends vectors of up to this size whole, in one step; longer ones in parts, in two. Between
 * two ranks one step sends no more bytes than two do, so there the limit is high. */
size_t algorithm_direct_whole_bytes(int world);

/* Has an element's sum the same bits wherever its vector is cut? Root and direct add in rank order,
 * tree and halving by pairs, and a + b = b + a. Of a ring each chunk's sum begins at another rank. */
bool algorithm_ignores_cuts(enum algorithm algorithm);

/* The same of a vector that goes by one and, cut elsewhere, by the other: root and direct add alike. */
bool algorithm_adds_alike(enum algorithm one, enum algorithm other);

#endif
