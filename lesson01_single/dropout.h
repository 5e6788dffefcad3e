/*
 * dropout: units left out of training at random, so that none comes to rely on the others.
 *
 *     y = m x      m = 0 with probability P, else 1 / (1 - P)
 *     dx = m dy
 *
 * Dividing by 1 - P keeps a unit's mean, so that evaluation, which leaves nothing out, needs no
 * correction ("inverted" dropout). Srivastava et al., "Dropout: A Simple Way to Prevent Neural
 * Networks from Overfitting", JMLR 2014.
 *
 * A mask belongs to a sample: m is a function of (seed, step, sample, layer, unit), and of nothing
 * else. Whichever rank or micro-batch has the sample, and whoever computes it again, draws the same.
 */
#ifndef LESSON01_DROPOUT_H
#define LESSON01_DROPOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look; // what is measured of a step: look.h

struct dropout {
    float rate; // P, below 1; 0: every unit takes part
    uint64_t seed;
    size_t step;
    const uint32_t *samples; // (rows): the data set index of each row
    struct look *look;       // is told of the first rows' masks; NULL: off
    bool by_row; // a mistake: a mask belongs to a row, on whichever rank (--inject same-dropout)
};

/* m of one unit. `layer` and `unit` count from 0. */
float dropout_factor(const struct dropout *dropout, uint32_t sample, size_t layer, size_t unit);

/* y (rows, width), the outputs of a layer's ReLU, in place. */
void dropout_forward(const struct dropout *dropout, size_t layer, float *y, size_t rows,
                     size_t width);

/* dy (count) in place, after relu_backward with y: a unit that was left out has y = 0, so its
 * gradient is 0 already, and what passed is multiplied by 1 / (1 - P). */
void dropout_backward(const struct dropout *dropout, float *dy, size_t count);

#endif
