/*
 * synthetic: a regression set on which every order of addition gives the same bits.
 *
 * 320 samples of 8 features in {-1, -1/2, 0, 1/2, 1} and 2 targets, target = W x with W a multiple
 * of 1/4 in [-1, 1]; every fifth sample is for testing, which leaves 256, a power of two, to train
 * on. A float holds a sum of multiples of 2^-p exactly as long as it stays within 2^(24-p), and
 * then no order of the additions can round. For a linear model whose weights and biases are
 * multiples of 1/4 in [-1, 1] (say --hidden none --init const:0.25), and a batch of a power of two:
 *
 *     target, prediction    multiples of 2^-3, within 8 and 9: exact
 *     error                 multiple  of 2^-3, within 17
 *     error * feature       multiple  of 2^-4, within 17
 *     summed over 256       multiple  of 2^-4, within 2^13: 17 bits of the 24 there are
 *
 * The mean divides by a power of two (samples, and 2 outputs), before or after the sum, which only
 * shifts. So gradients of the first update are exact, whatever the batch, the ranks or the ring's
 * order. An update by a rate 2^-k adds bits to the weights: with batches of 2^m, the second update
 * is exact as well as long as 2 m + k <= 12.
 */
#ifndef COMMON_SYNTHETIC_H
#define COMMON_SYNTHETIC_H

#include "common/table.h"

#include <stdint.h>

/* The set of this seed. 0 or -ENOMEM; table_release is due whatever the outcome. */
int synthetic_make(struct table *table, uint64_t seed, struct memory *memory, struct fail *fail);

#endif
