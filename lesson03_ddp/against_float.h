/*
 * against_float: the proof of compressed buckets. How far are they from the float gradient?
 *
 *     compressed buckets            =   the same compression after backward          bit for bit
 *                                   ~   lesson 2's all-reduce of the float gradient  bound 1
 *     and what is kept back         ~   that                                         bound 2
 *
 * With error feedback the float gradient is v_r = g_r + e_r, that which rank r compresses, and the
 * third line says that nothing was lost: the sum that was sent and all e together are the sum of
 * all v. Without it there is no third line, and v_r = g_r.
 *
 * Of W ranks, for an element, with A = sum |v_r|, and n = 2^-24, u = 2^-8, s = 2^-134 (half of bf16's
 * smallest), g = gamma(W - 1) for float sums of W numbers in any order (against_ring.h):
 *
 *     c_r = bf16(v_r)       |c_r - v_r| <= u |v_r| + s        so  C = sum |c_r| <= (1 + u) A + W s
 *     t = fl(sum c_r)       |t - sum c_r| <= g C              so  T = |t| <= (1 + g) C
 *     r = bf16(t)           |r - t| <= u T + s
 *     lesson 2's sum of v   within g A
 *     bound 1  =  u A + W s  +  g C  +  u T + s  +  g A
 *
 * v_r - c_r and t - r are exact in float, so that only sums round in what is left for the third
 * line. The owner adds its two up (once n), all e are added (g), and then r (once n):
 *
 *     E = sum |e_r| <= (1 + n) (u A + W s + u T + s)          R = |r| <= (1 + u) T + s
 *     bound 2  =  g C  +  n E  +  g E  +  n (R + (1 + g) E)  +  g A
 */
#ifndef LESSON03_AGAINST_FLOAT_H
#define LESSON03_AGAINST_FLOAT_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/ddp.h"
#include "lesson03_ddp/rerun.h"

struct against_float {
    struct rerun rerun;       // whole is v, and then its sum over ranks
    struct compress compress; // with an e of its own, which must stay that of the run
};

/* After ddp_init, and after a resumed e was read. 0, or an error that run->fail tells. Release accepts
 * a zeroed struct. */
int against_float_init(struct against_float *against, struct run *run, const struct ddp *ddp,
                       const struct trainer *of);
void against_float_release(struct against_float *against);

/* After ddp_wait: the lines above for ddp->grad. 0 or the communicator's error; what fails is counted
 * in run->proof. */
int against_float_gradient(struct against_float *against, struct run *run, const struct ddp *ddp,
                           const struct step *step);

#endif
