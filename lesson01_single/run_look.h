/* run_look: a run's --record: what run.c's steps and look.h's measurements become in the file (record.h). */
#ifndef LESSON01_RUN_LOOK_H
#define LESSON01_RUN_LOOK_H

#include "lesson01_single/run.h"

/* Part of run_start: opens the file. Nothing unless it was asked for. 0 or an error. */
int run_look_open(struct run *run);

/* Part of run_next: writes how the run begins, before its first step; and a step begins, if there is one. */
void run_look_begin(struct run *run);
void run_look_next(struct run *run, const struct step *step);

/* Part of run_record. 0 or an error. */
int run_look_step(struct run *run, const struct metrics_step *line);
int run_look_epoch(struct run *run, const struct metrics_epoch *line);

/* Part of run_close. */
void run_look_close(struct run *run, enum exit_code code);

#endif
