/*
 * sections: the page of a run: one file, with its pictures and its style, that asks nobody for anything.
 *
 * What a record does not hold has no section; that a run did not end, or was thinned, is said.
 */
#ifndef REPORT_SECTIONS_H
#define REPORT_SECTIONS_H

#include "common/fail.h"
#include "common/report/survey.h"

/* Writes the page to `path`, of the pictures in `folder`. reference may be NULL. 0, or a negative error naming the file. */
int sections_write(const struct survey *survey, const struct casebook *reference,
                   const char *folder, const char *path, struct fail *fail);

#endif
