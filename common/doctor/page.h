/* page: one rank's file of a record, line after line, into a case_rank. Part of casebook.h. */
#ifndef DOCTOR_PAGE_H
#define DOCTOR_PAGE_H

#include "common/doctor/casebook.h"

#include <stdio.h>

/* A file, to be read; it has to be one, and nothing is waited for. NULL, and an error in `fail`. */
FILE *page_open(const char *path, struct fail *fail);

/* Reads ranks[rank].path. Rank 0 is read first: what it says of the run, the others must say, too. 0, or an error in
 * `fail`. */
int page_read(struct casebook *book, size_t rank, struct fail *fail);
void page_release(struct case_rank *page);

#endif
