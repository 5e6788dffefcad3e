/*
 * asked_stage: --explain, as lesson 4 answers it: lesson 3's bucket plan and, at stages 2 and 3, what is kept
 * and when it is here.
 */
#ifndef LESSON04_ASKED_STAGE_H
#define LESSON04_ASKED_STAGE_H

#include "lesson01_single/run.h"

/* It needs nobody else, so rank 0 prints and the others do nothing. 0, or an error that run->fail tells. */
int asked_stage(struct run *run);

#endif
