/* diagnosis: the doctor's verdict (build/doctor --json) as a part of the page. */
#ifndef REPORT_DIAGNOSIS_H
#define REPORT_DIAGNOSIS_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the section from FOLDER/verdict.json. False: there is none, and nothing was written. */
bool diagnosis_write(FILE *out, const char *folder);

#endif
