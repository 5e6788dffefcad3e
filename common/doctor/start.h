/* start: the line with which a process begins its part of a record. Part of page.h. */
#ifndef DOCTOR_START_H
#define DOCTOR_START_H

#include "common/doctor/line.h"

/* Takes it; of rank 0's first one also what it says of the run, which the other starts must say, too. 0, or an error in
 * line->fail. */
int start_take(struct casebook *book, size_t rank, struct case_start *start,
               const struct line *line);

#endif
