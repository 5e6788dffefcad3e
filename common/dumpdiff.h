/*
 * dumpdiff: does one step of a dump equal the same step of another, kind by kind?
 *
 * A is the reference, B is what is held against it. All tensors of a kind are compared as one
 * vector, in the order of the file, once for each rank there is on either side:
 *
 *     rank r of B against rank r of A, or rank 0 of A when A has fewer ranks,
 *     and where A has more ranks, its rank r against rank 0 of B.
 *
 * Where a rank holds a part of a tensor, the same elements of the other side are taken, from
 * whichever of its ranks hold them.
 */
#ifndef COMMON_DUMPDIFF_H
#define COMMON_DUMPDIFF_H

#include "common/compare.h"
#include "common/dumpstep.h"
#include "common/locate.h"

struct dumpdiff_sides {
    const struct dumpstep *a, *b;
    const struct dumpstep *before; // A one step earlier, or NULL
    bool bounded;                  // else bit for bit
    double tolerance;              // bounded: times the largest |value| of A's tensor
};

struct dumpdiff {
    char kind[TENSORFILE_NAME_BYTES]; // "grad"
    size_t tensors, ranks;
    bool sharded; // ranks held parts, on either side
    struct compare total;

    /* The first divergence, when total.different > 0. */
    size_t step, rank, element; // element of the whole tensor
    char tensor[TENSORFILE_NAME_BYTES];
    float a_value, b_value;
    bool cause_of_tensor;          // looked for in this tensor alone, else in the whole kind
    char cause[LOCATE_TEXT_BYTES]; // see locate.h
};

/* 0, or -EINVAL naming a tensor that only one side has, or that has another shape. */
int dumpdiff_match(const struct dumpdiff_sides *sides, struct fail *fail);

/* Compares the kind that begins at A's tensor `first`; *next is where the following kind begins.
 * Matched sides only. 0, -ENOMEM, or what reading said; `diff` need not be initialised. */
int dumpdiff_kind(const struct dumpdiff_sides *sides, size_t first, size_t *next,
                  struct dumpdiff *diff, struct fail *fail);

#endif
