/*
 * sharded: a lesson 4 within a rank of a check, with everything in the hand; and what its numbers must be, from
 * lesson 3's way: the whole gradient by lesson 2's all-reduce, bucket by bucket, and an optimizer that owns all.
 *
 *     static int body(struct ranks_self *self)       // self->context: a struct drawn
 *     {
 *         struct sharded sharded;
 *         int wrong = sharded_open(&sharded, self, 2); // the stage
 *         ...
 *         return sharded_close(&sharded, wrong);
 *     }
 */
#ifndef TESTS_GRADE_SHARDED_H
#define TESTS_GRADE_SHARDED_H

#include "lesson04_zero/zero.h"
#include "tests/grade/drawn.h"
#include "tests/inside.h"

struct sharded {
    struct ranks_self *self;
    struct inside inside;
    struct run *run;
    struct zero zero;
};

/* The run of the flags at a stage, started. Not 0: self has the sentence. */
int sharded_open(struct sharded *sharded, struct ranks_self *self, int stage);
int sharded_close(struct sharded *sharded, int wrong); // 0 or 1

/* A step's gradient, up to the owned sums. */
int sharded_reduce(struct sharded *sharded, const struct step *step);

/* What rank owns of a bucket, as a slice of the slab: chunk `rank` of it. From no shard of the student's. */
struct slice sharded_own(const struct sharded *sharded, size_t bucket, int rank);
size_t sharded_count(const struct sharded *sharded, int rank); // of all buckets

/* grad (model.count) = the gradient of lesson 3, at these parameters. 0 or an error. */
int sharded_expect_grad(struct sharded *sharded, const struct step *step, float *param,
                        float *grad);

/* Some updates by all of lesson 4, beside the replica's: are parameters the same, bit for bit? */
int sharded_check_updates(struct sharded *sharded, size_t updates);

/* Are the owned sums of run->grad, in the slab or packed, those of `grad` (model.count)? */
int sharded_check_owned(const struct sharded *sharded, const float *grad, size_t step);

/* Expects so many bytes of payload, headers apart, since `before`, in so many messages. */
struct sent {
    uint64_t bytes, messages;
};
struct sent sharded_sent(const struct sharded *sharded);
int sharded_check_sent(const struct sharded *sharded, struct sent before, const char *of,
                       struct sent expected);

/* Of a step's gradient: every chunk but its own goes home, and no more. */
int sharded_check_reduce_bytes(struct sharded *sharded);

#endif
