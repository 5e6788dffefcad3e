/* facts: what the themes have measured of a run. A step that is NOWHERE: it was at none. */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include "common/doctor/casebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const size_t NOWHERE = SIZE_MAX;

/* Before the first update. */
struct setup_facts {
    bool param_differ;   // the ranks hold other parameters
    bool streams_differ; // the ranks draw other weights
    bool is_known;       // param_hash was there on every rank
};

/* How a rank comes to the samples of a step. All false: as the options say. */
struct sampling {
    bool first_order; // of epoch 0, in every epoch
    bool first_share; // rank 0's
    bool own_seed;    // seed + rank
    bool own_batch;   // --batch for each rank
    bool restarts;    // a resumed process begins at the start of its epoch's order
};

/* How often the samples of one epoch were seen, by all ranks together. */
struct coverage {
    size_t epoch, once, twice, never; // twice: or more
};

struct samples_facts {
    bool is_measured; // false: the data set is too large to do it again
    bool explained;   // `sampling` gives exactly what was recorded
    struct sampling sampling;
    size_t wrong_step, wrong_rank; // unexplained: where the options' own sampling is first left
    size_t checked;                // steps times ranks
    bool is_covered;               // a whole epoch is recorded
    struct coverage coverage; // of the first whole one, or of that in which the run was resumed
    size_t whole_epochs;
    size_t differing_orders; // epochs after the first whose order is not the first one's
    size_t same_orders;      // or is
};

struct weights_facts {
    size_t steps;                   // that were measured
    size_t step;                    // of the figures: the first that is not right
    double ratio_least, ratio_most; // there: weight times samples of the update: must be 1
    bool is_right;                  // 1 everywhere
    bool is_per_rank;               // 1 / this rank's samples everywhere
    bool is_per_micro_batch;        // every micro-batch and rank counts alike everywhere
};

/* reduced = factor * sum over ranks of (own factor * raw). */
struct gradient_law {
    bool divided; // the factor is 1 / N
    enum {
        CLIP_NONE,
        CLIP_OWN_MEAN,
        CLIP_OWN_SHARE
    } own; // each rank's gradient is clipped before the sum
};

struct gradients_facts {
    size_t looks;   // steps at which all ranks looked
    bool explained; // the law gives what was recorded, but for a bucket that is of the step before
    struct gradient_law law;
    bool stale[CASEBOOK_TENSORS_MOST]; // tensors
    size_t stale_count, stale_step;
    size_t differ_step; // the first at which ranks were given different gradients
    size_t early_step;  // the first at which gradients were handed over before the last micro-batch
    size_t handed_over, micro_batches; // there
    bool several;                      // at some looks there were several micro-batches
    bool sync;                         // not all of them were reduced
    bool single_only;                  // the law is that of the other steps
    size_t wrong_step, wrong_tensor;   // where the plain sum is first left
    double found, expected, bound;     // there
    double worst_share;                // of the bound, where the law holds
};

struct updates_facts {
    size_t skip_step, skip_rank; // the first at which some ranks updated and that one did not
    bool skip_nonfinite;         // it had seen a gradient that was not finite
    bool skips_all;              // no rank updated, though the options do not allow that
    size_t clip_step;            // the first at which ranks clipped by different factors
    double clip_least, clip_most;
    size_t norm_step; // the first at which ranks believed in different norms
    double norm_least, norm_most;
    size_t decay_step; // the first at which another number decayed than weights there are
    size_t decayed, decaying, trained; // there; of weights; of all that is trained
    size_t no_state_step;              // first step of a resumed process that had no state
    size_t drift_step;                 // the first after which ranks held different parameters
    size_t looks, decay_looks, resumed, clipped;
};

struct masks_facts {
    size_t looks, by_row; // at which a rank drew masks, and where they belong to the row
    double chance;        // that all masks do by chance: its logarithm
    size_t step;          // the first of these
};

struct losses_facts {
    size_t steps, own_steps;    // compared; where ranks reported their own loss
    size_t own_step;            // the first of them
    double low, high, mean;     // there: what ranks reported, and what is right
    size_t wrong_step;          // neither the mean nor their own
    size_t evaluated, expected; // test samples, by all ranks
    size_t padded_epoch;
    size_t epochs;
};

struct facts {
    struct setup_facts setup;
    struct samples_facts samples;
    struct weights_facts weights;
    struct gradients_facts gradients;
    struct updates_facts updates;
    struct masks_facts masks;
    struct losses_facts losses;
};

#endif
