/*
 * digits: the handwritten digits of this repository (common/data/README.md): 8 x 8 pixels from 0
 * to 16, scaled to 0..1, in ten classes. Every fifth row is for testing.
 */
#ifndef COMMON_DIGITS_H
#define COMMON_DIGITS_H

#include "common/table.h"

/* Where the file is, whatever the current directory: beside the program's own tree, or in the
 * tree it was built from. 0 or -ENAMETOOLONG. */
int digits_path(char path[TABLE_PATH_BYTES], struct fail *fail);

/* As csv_read; -EINVAL too when the rows are not 64 pixels from 0 to 16 and a label. */
int digits_read(struct table *table, const char *path, struct memory *memory, struct fail *fail);

#endif
