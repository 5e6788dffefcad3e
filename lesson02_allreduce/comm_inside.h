/*
 * comm_inside: what the files that make up the communicator share, and nobody else sees.
 *
 *     comm.c      the verbs: open, begin, send, receive, end, close
 *     outgoing.c  a frame on its way to a peer, piece by piece
 *     incoming.c  bytes from a peer: the header checked, then the payload put in its place
 *     wait.c      drives the loop until all transfers are done, or never will be
 *     silence.c   what is done about it when no byte moves
 *     watch.c     tells whoever watches what this rank waits for
 *     news.c      errors and goodbyes: recorded, passed on to all peers, heard from all
 *
 * One stream per peer carries its frames in order: data, each expected by a transfer of ours; and
 * between them what needs no transfer: "I wait myself", bad news, a goodbye.
 */
#ifndef LESSON02_COMM_INSIDE_H
#define LESSON02_COMM_INSIDE_H

#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/link.h"
#include "lesson02_allreduce/slow.h"

#include <stdbool.h>

/* The frame that is awaited from a peer. */
struct incoming {
    bool wanted;      // it is expected, and not yet whole
    bool header_seen; // and checked: payload bytes follow
    uint8_t *into;
    enum comm_receive how;
    size_t expected_bytes, done_bytes; // of the payload
    uint32_t frames;                   // whole ones in this call so far
};

/* The frame that is sent to a peer. */
struct outgoing {
    bool wanted; // it is to be sent, and not yet with the system
    struct parcel parcel;
    const uint8_t *from;
    size_t bytes, given_bytes; // of the payload; and given to the link so far
    bool header_given;
    uint32_t frames;              // in this call so far
    const struct incoming *pacer; // sends no faster than this comes in; NULL: as fast as it can
};

struct peer {
    struct comm *comm;
    int rank;
    struct link link;
    struct incoming incoming;
    struct outgoing outgoing;

    struct parcel waiting;  // tells the peer that this rank waits itself
    uint64_t waits_silence; // the silence in which the peer told us so
    bool suspect;           // its link was found broken; the last word may not have been read
    bool gone;              // it said goodbye,
    uint64_t sequence;      // having finished this many calls
    struct parcel news;
    bool knows; // the error: it was heard from this peer
};

/* Since when no byte has moved, and what has been done about it. */
struct silence {
    uint64_t number;     // of this silence; the first is 1
    double since;        // clock_seconds(); 0: not waited yet
    int looks;           // at the loop, so far
    bool told, logged;   // peers were told that this rank waits; the log says for whom
    size_t queued_bytes; // given to links and not yet taken, when it was looked at last
};

struct comm {
    int rank, world;
    double timeout_seconds;
    size_t head_start_bytes; // how far a paced frame may run ahead of what comes in
    struct slow *slow;       // the port of slowed links; NULL: they are as fast as they are
    double due_seconds;      // when bytes of slowed links may be seen next, or INFINITY
    double lag_seconds;      // what a byte of theirs takes at most, once it has left
    FILE *log;
    struct memory *memory;
    struct choice choice;
    struct fail fail; // the first error
    bool stopped;     // it was this rank's, by comm_stop

    uv_loop_t loop;
    uv_timer_t timer; // armed only while blocked
    bool time_is_up;
    bool loop_open;
    struct peer *peers; // (world): this rank's own is not used

    struct comm_call call;
    uint32_t tag;
    bool in_call;
    uint64_t sequence; // of the call that is open, or was last
    size_t transfers;  // sends and receives that are not done yet
    bool trouble;      // a link broke or a peer left: time to judge
    uint64_t sent_bytes, sent_messages;
    uint64_t moved_bytes; // of transfers, both ways
    struct silence silence;
    struct comm_watch watch;
    uint64_t told_silence;         // the last it was told of; 0: none, or it is over
    char news[WIRE_TEXT_MOST + 1]; // the sentence to pass on
};

/* "call 7: ring all-reduce of 5 f32 (sum, tag 0)" */
enum { CALL_TEXT_BYTES = 128 };
void comm_describe(char text[CALL_TEXT_BYTES], const struct comm_call *call, uint64_t sequence,
                   uint32_t tag);

/* Takes what has come from a peer: on_bytes of its link, and when a receive begins. */
void incoming_advance(struct peer *peer);

/* Gives the link as much as may go now. Called when a send begins and whenever the loop has run. */
void outgoing_advance(struct peer *peer);

/* Gives the link all that is left of a frame, so that news may follow it. False: it cannot. */
bool outgoing_flush(struct peer *peer);

/* When this silence is worth doing something about. */
double silence_deadline(const struct comm *comm);

/* It is time: tells the peers, or the log, or records the error. */
void silence_act(struct comm *comm);

/* This rank is about to sleep in a call; all it waited for has come. */
void watch_wait(struct comm *comm);
void watch_go(struct comm *comm);

/* Runs the loop until nothing of the peers' news and frames is under way, or for `seconds`. */
void wait_sent(struct comm *comm, double seconds);

/* Records an error this rank has seen, unless there is one already. The sentence opens with rank
 * and call. Never runs the loop: fit for callbacks. */
__attribute__((format(printf, 3, 4))) void news_record(struct comm *comm, int code,
                                                       const char *format, ...);

/* A frame of news or a goodbye is at the head of what the peer's link has staged, perhaps in part:
 * taken once it is whole. */
void news_take(struct peer *peer, const struct wire_frame *frame);

/* The peer's link is at its end. Does a goodbye or bad news lie behind data nobody has wanted yet?
 * Then it is taken. */
void news_search(struct peer *peer);

/* Passes the recorded error on to the peers that do not know it, and closes the links. */
void news_spread(struct comm *comm);

/* The rendezvous has failed: those who have linked up, and may wait in their first call, are told
 * why. Takes the sockets; fds (world), -1 where there is none. */
void news_unmet(const struct environment *environment, const struct comm_config *config,
                const int *fds, const struct fail *why);

/* Tells all peers that this rank leaves in good order. */
void news_leave(struct comm *comm);

/* Closes links, timer and loop. May be called twice. */
void comm_shut(struct comm *comm);

#endif
