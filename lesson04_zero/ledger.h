/*
 * ledger: what every rank really keeps, beside what the formula says (memory_plan.h).
 *
 *     memory, bytes       parameters   gradients   optimizer   ...      total
 *     rank 0    formula        19240       19240        9624   ...
 *               measured       19240       19240        9624   ...
 *               peak           19240       19240        9624   ...
 *
 * Measured is what is filed when everything is set up, and again when the last step has been made: the
 * steps take nothing. Both must be the formula, byte for byte, for every use and every rank.
 * Ranks in a row that keep the same are one entry.
 */
#ifndef LESSON04_LEDGER_H
#define LESSON04_LEDGER_H

#include "lesson01_single/run.h"

/* After everything is set up. Rank 0 prints; every rank takes part. 0, or, on every rank alike, an
 * error when some rank keeps other than the formula's bytes (run->exit_code is then that of a failed
 * verification) or owns other parameters than its chunks. */
int ledger_show(struct run *run);

/* After the last step: holds the ledger against the formula again, and says how high it ever was,
 * beside what the operating system counts. The same outcomes. */
int ledger_end(struct run *run);

#endif
