/*
 * gather: how lesson 1's run learns the numbers of the other ranks (see run.h, `gather`).
 */
#ifndef LESSON02_GATHER_H
#define LESSON02_GATHER_H

#include "common/fail.h"

#include <stddef.h>

/* all (world * count) = every rank's mine (count), in rank order. `comm` is a struct comm. 0, or
 * the communicator's error, copied to fail. */
int gather_numbers(void *comm, const double *mine, size_t count, double *all, struct fail *fail);

#endif
