/*
 * sketch: a long array in two numbers, so that arrays which nobody ever has side by side can be compared.
 *
 *     sum = +x[0] - x[1] - x[2] + x[3] ...      squares = x[0]^2 + x[1]^2 + ...
 *
 * The signs are those of a hash of the position in the slab, the same on every rank. So the sum is linear:
 * what ranks hold adds up as their sketches do, and parts of an array give the sketch of the whole. That of an
 * array that differs in anything but a few last bits is another: the sum of n random signs times what differs.
 * Alon, Matias and Szegedy, "The Space Complexity of Approximating the Frequency Moments", STOC 1996.
 */
#ifndef COMMON_SKETCH_H
#define COMMON_SKETCH_H

#include <stddef.h>
#include <stdint.h>

struct sketch {
    double sum, squares;
};

/* Adds elements `first` and following of the slab. Positions are taken modulo 2^32. */
void sketch_add(struct sketch *sketch, const float *x, size_t count, size_t first);

/* A bijection of 64 bits in which every bit depends on every other (Steele, Lea and Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014: SplitMix64's last step). A sum of it over indices + 1 tells
 * sets of samples apart, in whatever order they come. */
uint64_t sketch_mix(uint64_t bits);

#endif
