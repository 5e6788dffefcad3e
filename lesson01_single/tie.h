/*
 * tie: one weight in several layers.
 *
 *     --tie fc3=fc2      fc3 has no weight of its own: it uses fc2's, and its own bias
 *
 * A weight that is used twice is one tensor: registered once, its gradient the sum over its uses,
 * reduced and updated once. Press and Wolf, "Using the Output Embedding to Improve Language Models",
 * EACL 2017.
 */
#ifndef LESSON01_TIE_H
#define LESSON01_TIE_H

#include "common/fail.h"
#include "lesson01_single/model.h"

#include <stddef.h>

/* Reads "fcA=fcB,..." for layers of these widths (layers + 1): weight_from (layers) is each layer
 * whose weight a layer uses, mostly itself. NULL text: nothing is tied. 0, or -EINVAL: what was
 * expected, a layer that does not exist, two shapes that differ, a weight tied to a tied one. */
int tie_read(const char *text, const size_t *widths, size_t layers, size_t *weight_from,
             struct fail *fail);

#endif
