/*
 * comm_inside: what the files that make up the communicator share, and nobody else sees.
 *
 *     comm.c      the verbs: open, begin, exchange, end, close
 *     incoming.c  bytes from the left: the header checked, then the payload put in its place
 *     wait.c      drives the loop until a step is done, or will never be
 *     news.c      errors and goodbyes: recorded, passed on to both neighbours, heard from both
 *
 *     left link   data comes in, and bad news between two frames; bad news and a goodbye go out
 *     right link  data goes out, and bad news behind it; bad news and a goodbye come in
 */
#ifndef LESSON02_COMM_INSIDE_H
#define LESSON02_COMM_INSIDE_H

#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/link.h"

#include <stdbool.h>

/* The frame a step waits for. */
struct incoming {
    bool wanted;      // it is expected, and not yet whole
    bool header_seen; // and checked: payload bytes follow
    uint8_t *into;
    enum comm_receive how;
    size_t expected_bytes, done_bytes; // of the payload
    uint32_t frames;                   // whole ones in this call so far
};

/* The frame a step sends. */
struct outgoing {
    struct parcel parcel;
    size_t bytes;    // of the payload
    uint32_t frames; // in this call so far
};

/* Since when no byte has moved, and what has been said about it. Zeroed when one moves. */
struct silence {
    double since;    // clock_seconds(); 0: not waited yet
    int looks;       // at the loop, so far
    bool told_right; // that this rank is alive, and waits itself
    bool left_waits; // the left neighbour told us the same
};

struct comm {
    int rank, world;
    double timeout_seconds;
    struct fail fail; // the first error

    uv_loop_t loop;
    uv_timer_t timer; // armed only while blocked
    bool time_is_up;
    bool loop_open;
    struct link left, right;

    struct comm_call call;
    uint32_t tag;
    bool in_call;
    uint64_t sequence; // of the call that is open, or was last
    struct incoming incoming;
    struct outgoing outgoing;
    uint64_t sent_bytes;
    struct silence silence;
    struct parcel waiting;       // tells the right neighbour so
    uint64_t left_waiting_bytes; // received of such frames: not a byte of them counts as moved

    bool right_gone;               // the right neighbour said goodbye,
    uint64_t right_sequence;       // having finished this many calls
    struct link *told_by;          // where the error was heard; NULL: seen by this rank itself
    char news[WIRE_TEXT_MOST + 1]; // the sentence to pass on
    struct parcel news_left, news_right;
};

static inline int comm_left_rank(const struct comm *comm)
{
    return (comm->rank + comm->world - 1) % comm->world;
}

static inline int comm_right_rank(const struct comm *comm)
{
    return (comm->rank + 1) % comm->world;
}

/* "call 7: all-reduce of 5 f32 (tag 0)" */
enum { CALL_TEXT_BYTES = 128 };
void comm_describe(char text[CALL_TEXT_BYTES], const struct comm_call *call, uint64_t sequence,
                   uint32_t tag);

/* Takes what has come from the left: on_bytes of the left link, and when a step begins. */
void incoming_advance(struct comm *comm);

/* Runs the loop until the step is done. 0, or the first error, which is then passed on. */
int wait_step(struct comm *comm);

/* Runs the loop until nothing of the three parcels is under way, or `seconds` have passed. */
void wait_sent(struct comm *comm, double seconds);

/* Records an error this rank has seen, unless there is one already. The sentence opens with rank
 * and call. Never runs the loop: fit for callbacks. */
__attribute__((format(printf, 3, 4))) void news_record(struct comm *comm, int code,
                                                       const char *format, ...);

/* A frame of news is at the head of what `from` has staged, perhaps in part. */
void news_take(struct comm *comm, struct link *from, const struct wire_frame *frame);

/* Takes what has come from the right: on_bytes of the right link. */
void news_advance(struct comm *comm);

/* Passes the recorded error on to the neighbours that do not know it, and closes the links. */
void news_spread(struct comm *comm);

/* Tells the left neighbour that this rank leaves in good order. */
void news_leave(struct comm *comm);

/* Closes links, timer and loop. May be called twice. */
void comm_shut(struct comm *comm);

#endif
