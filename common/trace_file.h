/*
 * trace_file: spans as a file that trace viewers open.
 *
 * Chrome's Trace Event Format, in the form of an object: {"traceEvents": [...]}. Perfetto
 * (ui.perfetto.dev) and chrome://tracing read it. Times are microseconds.
 *
 *     ph "X"  a span: ts, dur      ph "i"  an instant      ph "M"  the name of a process or lane
 *
 * A rank is a process (pid), a lane a thread of it. tid is unlike for all lanes of a job: Perfetto
 * takes two threads with one tid for the same one when it reads their names.
 */
#ifndef COMMON_TRACE_FILE_H
#define COMMON_TRACE_FILE_H

#include "common/fail.h"
#include "common/rank_path.h"
#include "common/trace.h"

#include <stdio.h>

struct trace_file {
    FILE *file; // NULL: closed
    char path[RANK_PATH_BYTES];
    char *aside;   // written instead until it is whole; NULL: the path itself is
    size_t events; // written so far
    int error;     // errno of the first that could not be
};

/* Begins it, beside what is there by that name: a kill leaves the old one or the new one. 0, or a negative
 * error naming it. */
int trace_file_open(struct trace_file *file, const char *path, struct fail *fail);

/* Names a rank and its lanes. */
void trace_file_rank(struct trace_file *file, int rank);

/* One record of a rank, `origin_seconds` being ts 0. */
void trace_file_event(struct trace_file *file, int rank, const struct trace_event *event,
                      double origin_seconds);

/* Completes and closes it: only now is it whole. `first_step`: the steps before it are not in the
 * file. 0, or a negative error naming it, also of what was written before. Accepts a closed one. */
int trace_file_close(struct trace_file *file, size_t first_step, struct fail *fail);

#endif
