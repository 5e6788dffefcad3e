/*
 * meet: from a run to its communicator, as lessons 2 to 4 begin.
 */
#ifndef LESSON02_MEET_H
#define LESSON02_MEET_H

#include "lesson01_single/run.h"
#include "lesson02_allreduce/comm.h"

/* Opens the communicator the run's environment and options ask for, and lets the run share numbers
 * through it. Ranks whose options or choices of algorithms differ are told so, all of them; a
 * --tuning file that is not fit for this run is refused before the rank meets anyone. 0, or an error
 * that run->fail tells. */
int meet(struct comm **comm, struct run *run);

/* Which algorithm the options ask for, by size. 0, or an error that run->fail tells. */
int meet_choice(struct run *run, struct choice *choice);

/* When something failed: the run's sentence is the communicator's, unless the run has one
 * already; then this rank waits a moment, so that the one that caused it ends first. comm may be
 * NULL. */
void meet_report(struct run *run, const struct comm *comm);

#endif
