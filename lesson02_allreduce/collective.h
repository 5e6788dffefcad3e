/*
 * collective: what every algorithm sees of a call: a vector, cut into one chunk per rank, and where
 * this rank stands.
 *
 *     data   | chunk 0 | chunk 1 | ... | chunk world - 1 |       sizes differ by one at most
 */
#ifndef LESSON02_COLLECTIVE_H
#define LESSON02_COLLECTIVE_H

#include "common/slice.h"
#include "lesson02_allreduce/comm.h"

struct collective {
    struct comm *comm;
    struct comm_call call;
    uint8_t *data;
    size_t count, size_bytes; // elements, and bytes of one
    int rank, world;
};

/* Opens a call on data (call->count), in place. 0 or the communicator's error. */
int collective_begin(struct collective *collective, struct comm *comm, const struct comm_call *call,
                     void *data);

/* Opens an all-reduce; `out` then holds this rank's part. In and out may be the same, but must not
 * overlap otherwise: -EINVAL. */
int collective_begin_allreduce(struct collective *collective, struct comm *comm,
                               const struct comm_call *call, const void *in, void *out);

/* Closes it: `error`, or the communicator's own. */
int collective_end(const struct collective *collective, int error);

/* Chunk `number`, counted around: -1 is the last one. */
struct slice collective_chunk(const struct collective *collective, int number);

/* Where element `index` is. */
void *collective_at(const struct collective *collective, size_t index);

/* At most `most` elements of a slice, from its element `from` on; none when it has ended. */
struct slice collective_part(struct slice slice, size_t from, size_t most);

#endif
