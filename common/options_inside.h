/* options_inside: what is known while a command line is read. For options.c and options_together.c. */
#ifndef COMMON_OPTIONS_INSIDE_H
#define COMMON_OPTIONS_INSIDE_H

#include "common/flag.h"
#include "common/options.h"

#include <stdbool.h>

struct reading {
    struct options *options;
    struct fail *fail;
    char **next; // the argument read next
};

/* Was the flag of this name on the command line? There must be one. */
bool options_given(const struct reading *reading, const char *name);

/* Counts a flag as given, or as not. */
void options_count_given(struct reading *reading, const char *name, bool given);

/* Does --inject go with the rest? 0, or -EINVAL with the sentence. And then: what the rest is because of it. */
int options_check_zoo(struct reading *reading);
void options_plant(struct reading *reading);

/* All flags are read: does what was given go together? 0, or -EINVAL with the sentence. */
int options_together(struct reading *reading);

#endif
