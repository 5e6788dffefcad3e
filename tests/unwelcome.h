/* unwelcome: what strangers and liars need, and what must be well in spite of them. */
#ifndef TESTS_UNWELCOME_H
#define TESTS_UNWELCOME_H

#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"

enum { UNWELCOME_WORLD = 3, UNWELCOME_GROWTH_MOST_KB = 16 * 1024 };

/* The most memory this process has had. */
long unwelcome_peak_kb(void);

/* An all-reduce by each algorithm, bit for bit. Not 0: self has the sentence. */
int unwelcome_sums(struct ranks_self *self);

/* A hello of this job, as if from `rank`. */
struct wire_hello unwelcome_hello(const struct ranks_self *self, enum wire_purpose purpose,
                                  int rank);

#endif
