/*
 * comm: the ranks of a job, and the verbs by which they move bytes.
 *
 * Every two ranks are joined by one link, both ways:
 *
 *     0 --- 1
 *     | \ / |
 *     | / \ |
 *     3 --- 2
 *
 * Blocking outside, events inside: an algorithm is straight-line code. Within comm_begin and
 * comm_end it says what to send and what to receive, and comm_wait drives the event loop until all
 * of it has come and gone, or the deadline has passed. Receiving never waits on sending.
 *
 * After the first error the communicator is dead: every later call returns that error. Belongs to
 * one thread at a time.
 */
#ifndef LESSON02_COMM_H
#define LESSON02_COMM_H

#include "common/environment.h"
#include "common/fail.h"
#include "common/linkspec.h"
#include "common/memory.h"
#include "lesson02_allreduce/algorithm.h"
#include "lesson02_allreduce/choice.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* bf16 is only moved: who adds such numbers up does it in float (lesson 3). */
enum comm_type { COMM_F32, COMM_F64, COMM_I32, COMM_I64, COMM_U8, COMM_BF16 };

enum comm_reduction { COMM_SUM, COMM_MIN, COMM_MAX, COMM_PRODUCT };

enum comm_operation {
    COMM_REDUCE_SCATTER,
    COMM_ALL_GATHER,
    COMM_ALLREDUCE,
    COMM_BROADCAST,
    COMM_BARRIER
};

enum comm_transport { COMM_TCP, COMM_UNIX, COMM_MPI }; // a build has the first two or the last

/* What a collective call is. Every frame carries it, and ranks that disagree are told so. */
struct comm_call {
    enum comm_operation operation;
    enum algorithm algorithm;
    enum comm_type type;
    enum comm_reduction reduction;
    uint64_t count; // elements of the whole vector
};

struct comm_config {
    double timeout_seconds; // of every wait, start-up included
    uint64_t fingerprint;   // of the run's configuration: must agree
    FILE *log;              // where it says whom it waits for and whom it dropped; or NULL
    enum comm_transport transport;
    struct linkspec link;    // how slow links are to be; zeroed: as fast as they are
    uint64_t seed;           // of the links' jitter
    int socket_buffer_bytes; // 0: the system's own; tests shrink it
    struct memory *memory;   // the ledger, for what it stages in; or NULL
};

struct comm; // opaque

/* Meets the other ranks and links up with each. 0, or a negative error: who is missing, who came
 * twice, whose configuration differs, and by when. *result is NULL then. */
int comm_open(struct comm **result, const struct environment *environment,
              const struct comm_config *config, struct fail *fail);

/* The same over sockets that are connected already: fds (world), fds[r] to rank r, the
 * communicator's from now on, whatever is returned. This rank's own is not looked at. */
int comm_adopt(struct comm **result, const struct environment *environment,
               const struct comm_config *config, const int *fds, struct fail *fail);

/* Stops the job for a reason of the caller's: every rank's call fails at once, or its next one, with
 * that sentence, and so does every later call here. Between calls. A dead communicator stays as it
 * is. */
void comm_stop(struct comm *comm, const struct fail *why);

/* Sends what is still under way, leaves, frees. NULL is accepted. Never fails, never waits for
 * long: a rank may leave while others are still busy with earlier bytes. */
void comm_close(struct comm *comm);

int comm_rank(const struct comm *comm);
int comm_world(const struct comm *comm);

/* What the ledger is told of: the communicator, its peers, a staging buffer for each link, and the
 * queues of slowed links. A meeting's memory is gone before comm_open returns. */
size_t comm_memory_bytes(const struct linkspec *spec, int rank, int world);

/* The first error: code 0 while all is well. */
const struct fail *comm_fail(const struct comm *comm);

/* Whether that is what this rank gave comm_stop, and not what befell it or what others said. */
bool comm_stopped(const struct comm *comm);

/* Bytes this rank has sent so far, headers included; and in how many messages. */
uint64_t comm_bytes_sent(const struct comm *comm);
uint64_t comm_messages_sent(const struct comm *comm);

/* Which algorithm is used for which size: the ring for all, unless another was set. Every rank must
 * set the same. */
const struct choice *comm_choice(const struct comm *comm);
void comm_set_choice(struct comm *comm, const struct choice *choice);

/* Marks the calls that follow, so that ranks which reduce different things of equal size are told
 * so (a bucket's index, a tensor's). 0 at the start. */
void comm_tag(struct comm *comm, uint32_t tag);

/* Whoever wants to know what this rank waits for: called before it goes to sleep, and with "" when it goes on. Text is
 * a JSON object below COMM_WATCH_BYTES: the call's number and description, the bytes still to come, the ranks awaited
 * (the first 8), and when this was, on clock_seconds(). */
enum { COMM_WATCH_BYTES = 256 };
struct comm_watch {
    void (*on_wait)(void *context, const char *text); // NULL: nobody
    void *context;
};
void comm_set_watch(struct comm *comm, const struct comm_watch *watch);

/* --- for algorithms -------------------------------------------------------------------------- */

size_t comm_type_bytes(enum comm_type type);

/* Opens call `sequence` + 1. A call inside a call is a bug. */
int comm_begin(struct comm *comm, const struct comm_call *call);

/* What becomes of received elements. */
enum comm_receive { COMM_STORE, COMM_REDUCE };

/* Begins to send to a rank, and to receive from one; comm_wait waits for all that was begun. At
 * most one of each with the same rank at a time. Counts are elements of the call's type; a count
 * of 0 still moves a frame, so that ranks notice when they disagree. The memory is not to be
 * touched, and what is sent and what is received not to overlap, until comm_wait has returned.
 * Received elements are stored, or folded in as the call's reduction says, as they arrive. */
void comm_send(struct comm *comm, int to, const void *data, size_t count);
void comm_receive(struct comm *comm, int from, void *data, size_t count, enum comm_receive how);

/* 0, or the first error. */
int comm_wait(struct comm *comm);

/* Both at once, and waits for both: a step of a ring (to the right, from the left) or a swap with
 * one partner (to == from). It sends no faster than it hears, but for a head start that keeps
 * sockets busy: a flood would only fill buffers and leave the caches. */
struct comm_step {
    int to, from;
    const void *send;
    size_t send_count;
    void *receive;
    size_t receive_count;
    enum comm_receive how;
};
int comm_exchange(struct comm *comm, const struct comm_step *step);

int comm_end(struct comm *comm);

#endif
