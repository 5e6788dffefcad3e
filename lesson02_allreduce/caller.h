/*
 * caller: one connection to a rank that listens: connect, say hello, and hear the answer.
 *
 *     RESTING -> CONNECTING -> CONNECTED -> SPEAKING -> ANSWERED
 *        ^-- CLOSING <-- FAILED <-'------------'
 *
 * A link expects no answer: it is done when it has spoken.
 *
 * Callbacks only record; whoever owns the caller runs the loop and looks at the state.
 */
#ifndef LESSON02_CALLER_H
#define LESSON02_CALLER_H

#include "lesson02_allreduce/stream.h"
#include "lesson02_allreduce/wire.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum caller_state {
    CALLER_RESTING,
    CALLER_CONNECTING,
    CALLER_CONNECTED,
    CALLER_SPEAKING,
    CALLER_ANSWERED,
    CALLER_FAILED,
    CALLER_CLOSING
};

enum { CALLER_BODY_MOST = ENVIRONMENT_WORLD_MOST * WIRE_ADDRESS_BYTES };

struct caller {
    union stream stream;
    enum caller_state state;
    int error; // why it failed last
    uv_connect_t connect;
    uv_write_t write;
    uint8_t hello[WIRE_HELLO_BYTES];
    struct wire_reply reply;
    size_t filled;                                       // bytes of the answer so far
    uint8_t answer[WIRE_REPLY_BYTES + CALLER_BODY_MOST]; // then the body, reply.length_bytes
};

/* RESTING -> CONNECTING, or CONNECTED, or FAILED. `from`: the address to call from, or NULL. */
struct caller_route {
    const struct sockaddr *from, *to;
    int buffer_bytes; // of the socket; 0: the system's own
};
void caller_call(struct caller *caller, uv_loop_t *loop, const struct caller_route *route);

/* CONNECTED -> SPEAKING. */
void caller_say(struct caller *caller, const struct wire_hello *hello);

/* The connected socket, now the owner's; ANSWERED -> CLOSING. Negative: an error. */
int caller_take_socket(struct caller *caller);

/* Any state -> CLOSING, and RESTING after the loop has run. */
void caller_hang_up(struct caller *caller);

#endif
