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

/* When something failed. If it was the communicator, the run's sentence is its own, and, unless this rank stopped
 * it, the rank waits a moment, so that the one that caused it ends first. If it was this rank, before its first step, the others are
 * told why. comm may be NULL. */
void meet_report(struct run *run, struct comm *comm);

#endif
