/*
 * csv: a table of numbers as text. A line is a sample: its features, then its target; no header.
 *
 * The values are used as they are. Cells are separated by commas and may have blanks around them;
 * a number has a decimal point in every locale. Line endings of either kind, a byte-order mark and
 * a missing last newline change nothing. A line that is empty, or has another number of cells than
 * the first, is refused: cells never shift, and line n is always sample n-1.
 */
#ifndef COMMON_CSV_H
#define COMMON_CSV_H

#include "common/table.h"

/* All lines of `path`. 0; -EINVAL with line and column, what was expected and what was found;
 * -ENOMEM; or what the system said. table_release is due whatever the outcome. */
int csv_read(struct table *table, const char *path, struct memory *memory, struct fail *fail);

#endif
