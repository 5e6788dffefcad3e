/*
 * timeline: spans drawn in text: a step, its lanes one below the other, time from left to right.
 *
 *     rank 0 compute |d[f1][forward fc2]l[backward fc2---][backward fc1-----------][wait--]o |
 *            network |                                    [bucket 0][bucket 1------------]   |
 *
 * A column belongs to the span that fills most of it. A span of several columns is a block with its
 * name, one of a column a letter. Records go in in any order; what lies outside the window is left
 * out. Nothing is read but what was given.
 */
#ifndef COMMON_TIMELINE_H
#define COMMON_TIMELINE_H

#include "common/trace.h"

#include <stdio.h>

enum { TIMELINE_COLUMNS = 96, TIMELINE_RANKS_MOST = 8 };

struct timeline_cell {
    struct trace_event event; // the one the column belongs to
    double filled_seconds;    // of the column, by that event; 0: by none
};

struct timeline {
    double begin_seconds, end_seconds; // the window
    int ranks;                         // drawn: the first TIMELINE_RANKS_MOST at most
    struct timeline_cell cells[TIMELINE_RANKS_MOST][TRACE_LANES][TIMELINE_COLUMNS];
    double comm_seconds[TIMELINE_RANKS_MOST], exposed_seconds[TIMELINE_RANKS_MOST];
};

/* Empty, for a window that has a length. */
void timeline_init(struct timeline *timeline, double begin_seconds, double end_seconds, int ranks);

void timeline_add(struct timeline *timeline, int rank, const struct trace_event *event);

/* One lane, TIMELINE_COLUMNS characters and a zero. */
void timeline_lane(const struct timeline *timeline, int rank, enum trace_lane lane,
                   char text[TIMELINE_COLUMNS + 1]);

/* All lanes, and what each rank's network did that nothing hid. */
void timeline_print(const struct timeline *timeline, size_t step, FILE *out);

#endif
