/* options_inside: what is known while a command line is read. For options.c and options_together.c. */
#ifndef COMMON_OPTIONS_INSIDE_H
#define COMMON_OPTIONS_INSIDE_H

#include "common/flag.h"
#include "common/options.h"

#include <stdbool.h>

enum { FLAGS_MOST = 80 }; // rows of the table

struct reading {
    struct options *options;
    struct fail *fail;
    char **next; // the argument read next
    bool given[FLAGS_MOST];
};

/* Was the flag of this name on the command line? There must be one. */
bool options_given(const struct reading *reading, const char *name);

/* All flags are read: does what was given go together? 0, or -EINVAL with the sentence. */
int options_together(struct reading *reading);

#endif
