/*
 * compress: gradients that travel as bf16: half the bytes, the sums still in float.
 *
 *     g        | chunk 0 | chunk 1 | chunk 2 |   float, on each rank
 *     bf16(g)     to 0      to 1      to 2       every chunk straight to the rank that adds it up
 *     s = bf16(g0) + bf16(g1) + ...              in float, in rank order
 *     bf16(s)     from 0    from 1    from 2     every finished chunk to all; unpacked
 *
 * An all-reduce on bf16 itself would round after every addition. Each element is rounded where it is
 * computed and once as a sum, wherever buckets and chunks are cut, and all ranks hold the same bits.
 *
 * Error feedback keeps what rounding took away, and adds it to the next step's gradient:
 *
 *     v = g + e        send c = bf16(v)        e = v - c
 *
 * and at the rank that adds up, e += s - bf16(s): so over all steps and ranks nothing is lost but
 * what is still in some e, and float's own roundings of v and of the owner's e. (Seide et al., "1-Bit Stochastic Gradient Descent", Interspeech 2014;
 * Karimireddy et al., "Error Feedback Fixes SignSGD", ICML 2019; both roundings: Tang et al.,
 * "DoubleSqueeze", ICML 2019.) v - c and s - bf16(s) are exact in float. Where a gradient is not
 * finite, or too large for bf16, e stays as it was.
 */
#ifndef LESSON03_COMPRESS_H
#define LESSON03_COMPRESS_H

#include "common/memory.h"
#include "common/slice.h"
#include "lesson02_allreduce/comm.h"

#include <stdbool.h>
#include <stdint.h>

struct compress {
    size_t most;     // elements of the longest bucket
    uint16_t *half;  // (most): what this rank sends; then the reduced bucket
    uint16_t *heard; // (heard_count): of each rank, its part of this rank's chunk
    size_t heard_count;
    float *residual; // (count): e, laid out as the slab of gradients; NULL: no error feedback
    size_t count;
    struct memory *memory;
};

/* For buckets of up to `most` elements of a slab of `count`, over `world` ranks. e begins at 0. 0 or
 * -ENOMEM. Release accepts a zeroed or half-built struct. */
int compress_init(struct compress *compress, size_t most, int world, size_t count, bool feedback,
                  struct memory *memory);
void compress_release(struct compress *compress);

/* What compress_init takes. */
size_t compress_memory_bytes(size_t most, int world, size_t count, bool feedback);

/* values (bucket.count) of a bucket, which is this slice of the slab, = the sum over ranks, the same bits
 * on every rank. 0 or the communicator's error. */
int compress_allreduce(struct compress *compress, struct comm *comm, float *values,
                       struct slice bucket);

/* Its first half: afterwards chunk `rank` of the bucket has those bits; the others must not be
 * used. */
int compress_reduce_scatter(struct compress *compress, struct comm *comm, float *values,
                            struct slice bucket);

#endif
