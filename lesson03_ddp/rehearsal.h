/*
 * rehearsal: in which order will gradients become ready?
 *
 * A backward over no samples computes nothing and announces every tensor, as one over a batch does.
 */
#ifndef LESSON03_REHEARSAL_H
#define LESSON03_REHEARSAL_H

#include "lesson01_single/run.h"
#include "lesson03_ddp/bucket.h"

/* The tensors of `first`, in the order backward announces them; those it never does come last.
 * Touches no gradient. */
struct bucket_order rehearsal(const struct run *run, const struct bucket_order *first);

#endif
