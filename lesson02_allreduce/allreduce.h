/*
 * allreduce: the collectives of training, by whichever algorithm the communicator's choice names.
 *
 * Every algorithm is a file of its own; this one only picks. They take, do and return the same:
 * see ring.h.
 */
#ifndef LESSON02_ALLREDUCE_H
#define LESSON02_ALLREDUCE_H

#include "lesson02_allreduce/comm.h"

int allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
              enum comm_reduction reduction);

/* Only ring and direct come in two halves; -EOPNOTSUPP for the others. */
int reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                   enum comm_reduction reduction);
int all_gather(struct comm *comm, void *data, size_t count, enum comm_type type);

#endif
