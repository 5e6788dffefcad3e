/* spans: one step out of a trace (--trace FILE) that lies beside a record, as rows of a table. */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include <stddef.h>
#include <stdio.h>

/* What a span is drawn as. */
enum span_kind { SPAN_COMPUTE, SPAN_WAIT, SPAN_NETWORK, SPAN_OTHER };

/* Rows of rank, lane (0 compute, 1 network), kind, begin and end in milliseconds, of `step` or, if the trace has that no
 * more, of its last one; *most becomes the last end. Returns which step, or -1: there is no trace at `path`, or none that
 * can be read, and nothing was written. Of the first `ranks` only. */
long spans_write(const char *path, size_t step, size_t ranks, double *most, FILE *out);

#endif
