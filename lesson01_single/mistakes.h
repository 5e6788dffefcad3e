/*
 * mistakes: the machinery of what --inject plants, where a line at its place is not enough.
 *
 * Each is made where real programs make it, in the very step; zoo.h tells what each of them is. Room is taken
 * at set-up, in a ledger of its own: a run without mistakes keeps none of it.
 *
 *     trainer   mistakes_begin      nothing has gone wrong in this step yet
 *               mistakes_samples    by how many a sample's loss is divided
 *               mistakes_slab       where a micro-batch's gradient goes
 *               mistakes_own        to this rank's gradient, before anything is reduced
 *     run_loss  mistakes_reduced    to the gradient after the reduction
 *     lesson 4  mistakes_norm       to the norm it is clipped by
 *
 * A NULL struct makes no mistakes.
 */
#ifndef LESSON01_MISTAKES_H
#define LESSON01_MISTAKES_H

#include "common/dataset.h"
#include "common/memory.h"
#include "common/sampler.h"
#include "common/zoo.h"
#include "lesson01_single/norm.h"
#include "lesson01_single/optimizer.h"

struct mistakes {
    const struct options *options;
    size_t rank, world;
    size_t count; // of the slabs below
    float *aside; // gradients that nobody reduces; NULL: none are
    float *stale; // a gradient of the step before; NULL: none is kept
    bool skips;   // this rank makes no update in this step
    struct memory memory;
};

/* Where mistakes are to be planted. */
struct mistakes_place {
    const struct options *options;
    const struct sampler *sampler;
    size_t world, updates, test_samples;
};

/* What is planted and would change nothing there: -EINVAL with the sentence. Else 0. */
int mistakes_check(const struct mistakes_place *place, struct fail *fail);

/* `options` must outlive it. 0 or -ENOMEM. */
int mistakes_init(struct mistakes *mistakes, const struct options *options, int rank, int world,
                  size_t count);
void mistakes_release(struct mistakes *mistakes); // accepts a zeroed struct

static inline bool mistakes_make(const struct mistakes *mistakes, enum zoo_member member)
{
    return mistakes && zoo_has(mistakes->options, member);
}

/* One sample has a feature that is no number. */
void mistakes_spoil(const struct mistakes *mistakes, struct dataset *train);

/* The samples of a step of a run that was resumed in the middle of an epoch, at update `first`. */
struct slice mistakes_repeated(const struct sampler *sampler, const struct step *step,
                               size_t first);

/* Must gradients stay until backward has ended, since something is done to all of them? */
bool mistakes_hold_back(const struct mistakes *mistakes);

void mistakes_begin(struct mistakes *mistakes);

/* Of a micro-batch of which this rank has `rows` samples: what is in the place of the samples of all ranks. */
float mistakes_samples(const struct mistakes *mistakes, const struct sampler *sampler,
                       const struct step *step, size_t rows);

/* Are gradients handed over in micro-batch m, be it the last or not; and where do they go instead of `grad`. */
bool mistakes_hand_over(const struct mistakes *mistakes, size_t m, bool last);
float *mistakes_slab(const struct mistakes *mistakes, float *grad, bool handed_over);

/* grad (count) is this rank's of `mine` samples of the update's `all`. */
void mistakes_own(struct mistakes *mistakes, float *grad, size_t mine, size_t all);

/* grad is what the optimizer is about to be given; `scale`: the loss scale. */
void mistakes_reduced(const struct mistakes *mistakes, const struct optimizer *optimizer,
                      float *grad, float scale);

/* The sums of a norm of all ranks' gradient become those of what this rank owns of it. */
void mistakes_norm(const struct mistakes *mistakes, const struct optimizer *optimizer,
                   const float *grad, struct norm *sums);

/* A bucket's reduced gradient, `part` of the slab, is exchanged for that of the step before. */
void mistakes_exchange(const struct mistakes *mistakes, float *grad, struct slice part);

/* The optimizer's states are 0. 0, or its store's error. */
int mistakes_forget(const struct mistakes *mistakes, const struct optimizer *optimizer,
                    struct fail *fail);

#endif
