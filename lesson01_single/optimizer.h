/*
 * optimizer: SGD with momentum, Adam, AdamW, over the slices it owns.
 *
 * An optimizer keeps state (momentum, or Adam's two moments) for the slices of the slab it owns,
 * and updates these and no others. Lessons 1 to 3 own the whole slab; in lesson 4 each rank owns a
 * part, and that is all there is to sharding an optimizer. State is kept without gaps:
 *
 *     slab     | . . a a a . . . . b b . . |      owned slices a, b
 *     state    | a a a b b |
 *
 * The definitions are PyTorch's: torch.optim.SGD (Sutskever et al., ICML 2013), Adam (Kingma and
 * Ba, ICLR 2015, algorithm 1), AdamW (Loshchilov and Hutter, ICLR 2019, algorithm 2). Every element
 * is updated by itself, so a slice's bits do not depend on who owns its neighbours.
 */
#ifndef LESSON01_OPTIMIZER_H
#define LESSON01_OPTIMIZER_H

#include "common/fail.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/slice.h"
#include "lesson01_single/look.h"
#include "lesson01_single/model.h"

#include <stddef.h>

enum { OPTIMIZER_STATES_MOST = 2 };

/* Where states are kept elsewhere than in memory (lesson 4, --offload). Both copy `part` of one, counted
 * within the owned elements. 0, or an error of which the other ranks have been told. Where the parameters are, too, they have a store of their
 * own, in which they are state 0. */
struct optimizer_store {
    int (*read)(void *context, size_t state, struct slice part, float *values, struct fail *fail);
    int (*write)(void *context, size_t state, struct slice part, const float *values,
                 struct fail *fail);
    void *context;
};

struct optimizer {
    enum optimizer_kind kind;
    double momentum, weight_decay;
    const struct model *model;
    const struct slice *owned; // (owned_count), ascending, disjoint; the caller's
    size_t owned_count;
    bool packed_param, packed_grad;      // those arrays hold what is owned and nothing else
    bool tiled_param;                    // of packed ones, a part step has its own part only
    size_t count;                        // elements owned
    size_t states;                       // arrays of state: 0 to 2
    float *state[OPTIMIZER_STATES_MOST]; // (count) each; NULL with --offload, and then
    const struct optimizer_store *store; // they are here
    size_t updates;                      // made so far, and
    size_t skipped;                      // of them, how many changed nothing: not in Adam's t
    bool decays_biases;                  // a mistake (--inject decay-biases)
    struct trace *trace;                 // NULL: off
    struct profile *profile;             // NULL: off
    struct look *look;                   // NULL: off
    struct memory *memory;
};

/* How many arrays of state the options ask for. */
size_t optimizer_states(const struct options *options);

/* Takes no arrays of state where options->offload is given. 0 or -ENOMEM. `model` and `owned` must
 * outlive the optimizer. */
int optimizer_init(struct optimizer *optimizer, const struct options *options,
                   const struct model *model, const struct slice *owned, size_t owned_count,
                   struct memory *memory);
void optimizer_release(struct optimizer *optimizer); // accepts a zeroed struct

/* What differs from update to update. */
struct rate {
    float lr;
    float clip; // every gradient element is multiplied by this; 1: not clipped
    bool skip;  // change nothing: the gradient overflowed
};

/* param -= ... for every owned element; param and grad are whole slabs (model.count), or, where they are
 * packed, the owned elements one after another, as the state is (count). */
void optimizer_step(struct optimizer *optimizer, float *param, const float *grad, struct rate rate);

/* Of optimizer_step: some of the owned elements, `part` counts within them. Their states are
 * elsewhere: state[i] (part.count). And what is counted once all parts are done. */
void optimizer_part_step(const struct optimizer *optimizer, float *param, const float *grad,
                         float *const *state, struct slice part, struct rate rate);
void optimizer_count(struct optimizer *optimizer, struct rate rate);

/* Where the owned element `at`, of the slab, is the one at `state` among those owned: its position in the array of
 * parameters, or of gradients. */
size_t optimizer_param_at(const struct optimizer *optimizer, size_t at, size_t state);
size_t optimizer_grad_at(const struct optimizer *optimizer, size_t at, size_t state);

/* The elements of a tensor that are owned (maybe none) and where their state begins. A tensor meets
 * at most one owned slice. */
struct slice optimizer_part(const struct optimizer *optimizer, const struct tensor *tensor,
                            size_t *state);

/* Copies part of a state (part.count), counted within the owned elements, wherever it is kept. 0, or the
 * store's error. */
int optimizer_read(const struct optimizer *optimizer, size_t state, struct slice part,
                   float *values, struct fail *fail);
int optimizer_write(const struct optimizer *optimizer, size_t state, struct slice part,
                    const float *values, struct fail *fail);

/* "momentum", or "adam_m", "adam_v". state < optimizer.states. */
const char *optimizer_state_name(const struct optimizer *optimizer, size_t state);

#endif
