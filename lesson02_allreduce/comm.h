/*
 * comm: the ranks of a job, and the verbs by which they move bytes.
 *
 * A communicator is a closed ring of links: each rank hears its left neighbour and speaks to its
 * right one. (The other direction carries only the news that something went wrong.)
 *
 *      .--> 0 --> 1 --> 2 --> 3 --.
 *      '--------------------------'
 *
 * Blocking outside, events inside: an algorithm is straight-line code over comm_begin, one
 * comm_exchange per step, comm_end; each exchange drives the event loop until its bytes have come
 * and gone, or the deadline has passed. Receiving never waits on sending.
 *
 * After the first error the communicator is dead: every later call returns that error. Belongs to
 * one thread at a time.
 */
#ifndef LESSON02_COMM_H
#define LESSON02_COMM_H

#include "common/environment.h"
#include "common/fail.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum comm_type { COMM_F32, COMM_F64, COMM_U64 };

enum comm_operation {
    COMM_REDUCE_SCATTER,
    COMM_ALL_GATHER,
    COMM_ALLREDUCE,
    COMM_BROADCAST,
    COMM_BARRIER
};

/* What a collective call is. Every frame carries it, and ranks that disagree are told so. */
struct comm_call {
    enum comm_operation operation;
    enum comm_type type;
    uint64_t count; // elements of the whole vector
};

struct comm_config {
    double timeout_seconds;  // of every wait, start-up included
    uint64_t fingerprint;    // of the run's configuration: must agree
    FILE *log;               // where start-up says whom it waits for and whom it dropped; or NULL
    int socket_buffer_bytes; // 0: the system's own; tests shrink it
};

struct comm; // opaque

/* Meets the other ranks and closes the ring. 0, or a negative error: who is missing, who came
 * twice, whose configuration differs, and by when. *result is NULL then. */
int comm_open(struct comm **result, const struct environment *environment,
              const struct comm_config *config, struct fail *fail);

/* The same over two sockets that are connected already: fds = {from the left, to the right}, the
 * communicator's from now on, whatever is returned. Not looked at in a world of 1. */
int comm_adopt(struct comm **result, const struct environment *environment,
               const struct comm_config *config, const int fds[2], struct fail *fail);

/* Sends what is still under way, leaves, frees. NULL is accepted. Never fails, never waits for
 * long: a rank may leave while its neighbours are still busy with earlier bytes. */
void comm_close(struct comm *comm);

int comm_rank(const struct comm *comm);
int comm_world(const struct comm *comm);

/* The first error: code 0 while all is well. */
const struct fail *comm_fail(const struct comm *comm);

/* Bytes this rank has handed to its right neighbour so far, headers included. */
uint64_t comm_bytes_sent(const struct comm *comm);

/* Marks the calls that follow, so that ranks which reduce different things of equal size are told
 * so (a bucket's index, a tensor's). 0 at the start. */
void comm_tag(struct comm *comm, uint32_t tag);

/* --- for algorithms -------------------------------------------------------------------------- */

size_t comm_type_bytes(enum comm_type type);

/* Opens call `sequence` + 1. A call inside a call is a bug. */
int comm_begin(struct comm *comm, const struct comm_call *call);

/* What becomes of received bytes. */
enum comm_receive { COMM_STORE, COMM_ADD };

/* One step of a ring: sends to the right and receives from the left at the same time. Received
 * elements are stored to, or added to, `receive` in segments, as they arrive. Counts are elements
 * of the call's type. A count of 0 still moves a frame, so that ranks notice when they disagree; a
 * NULL array moves none that way. The two arrays do not overlap. */
struct comm_step {
    const void *send;
    size_t send_count;
    void *receive;
    size_t receive_count;
    enum comm_receive how;
};
int comm_exchange(struct comm *comm, const struct comm_step *step);

int comm_end(struct comm *comm);

#endif
