/*
 * ledger: what a rank really keeps, beside what the formula says.
 */
#ifndef LESSON04_LEDGER_H
#define LESSON04_LEDGER_H

#include "lesson01_single/run.h"

/* Prints the optimizer's bytes of every rank, as counted where memory is taken, beside 4 bytes x
 * states x elements owned, and beside what lesson 3 keeps. Rank 0 prints; every rank takes part. 0,
 * or an error that run->fail tells: the communicator's, or a count that is not the formula's. */
int ledger_show(struct run *run);

#endif
