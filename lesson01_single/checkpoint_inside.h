/* checkpoint_inside: what saving and loading a checkpoint share. For checkpoint*.c alone. */
#ifndef LESSON01_CHECKPOINT_INSIDE_H
#define LESSON01_CHECKPOINT_INSIDE_H

#include "lesson01_single/checkpoint.h"

enum { PATH_BYTES = 4096, SETTINGS = 8, VALUE_BYTES = 32 };

/* What must be the same for the run that goes on. */
struct setting {
    const char *key, *flag;
    char value[VALUE_BYTES];
};

extern const char CHECKPOINT_FORMAT[];

void checkpoint_settings(const struct checkpoint *checkpoint, struct setting settings[SETTINGS]);

/* The directory's file. */
void checkpoint_path(char path[PATH_BYTES], const char *directory);

#endif
