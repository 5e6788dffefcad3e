/*
 * run_trace: a run's --trace and --profile.
 *
 *     run_trace_open     takes the memory, and lets the run's parts record
 *     run_trace_start    the moment all ranks count from; files that cannot be written are told now
 *     run_trace_finish   all ranks' records into one file, the last update in text, the profile
 *     run_trace_close    this rank's own file, also of a run that failed
 *
 * Ranks of one machine have one monotonic clock, and count from rank 0's start. On several machines
 * each counts from when it left the first exchange: equal to within a message's way.
 *
 * A run that was asked for neither passes through all four and does nothing.
 */
#ifndef LESSON01_RUN_TRACE_H
#define LESSON01_RUN_TRACE_H

#include "lesson01_single/run.h"

/* 0, or an error that run->fail tells. */
int run_trace_open(struct run *run);
int run_trace_start(struct run *run); // after the ranks have met; sets what the optimizer records
int run_trace_finish(struct run *run);
void run_trace_close(struct run *run);

#endif
