/*
 * trace_merge: all ranks' records into one file, and the last update in text.
 *
 * Records travel as they lie in memory, some of each rank at a time, until no rank has more; rank 0
 * writes them down as they come and keeps none. Times count from their rank's origin.
 */
#ifndef LESSON01_TRACE_MERGE_H
#define LESSON01_TRACE_MERGE_H

#include "lesson01_single/run.h"

/* Every rank calls it, at the end of training. Of several ranks rank 0 writes --trace's FILE; it
 * prints the timeline, whatever the world. 0, or an error that run->fail tells. */
int trace_merge(struct run *run);

#endif
