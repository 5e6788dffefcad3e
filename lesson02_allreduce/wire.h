/*
 * wire: what the ranks say to each other, byte for byte. No socket here: structs to bytes and back.
 *
 * Three messages. A hello opens every connection; a reply answers a hello that asked to join;
 * frames follow on the links. All fields are unsigned, fixed in size, little-endian:
 *
 *     hello  | magic 4 | version 2 | purpose 2 | token 16 |
 *            | rank 4 | world 4 | fingerprint 8 | port 4 |
 *     reply  | magic 4 | version 2 | answer 2 | length 4 |  then addresses of 24 bytes, or a text
 *     frame  | magic 4 | kind 1 | operation 1 | algorithm 1 | type 1 | reduction 1 | 0 3 |
 *            | tag 4 | step 4 | sequence 8 | count 8 | length 8 |  then length bytes
 *
 * Decoding believes nothing: it checks all bytes of every field, that a rank is below its world, and a world at most
 * ENVIRONMENT_WORLD_MOST, and returns -EPROTO for what we did not write.
 */
#ifndef LESSON02_WIRE_H
#define LESSON02_WIRE_H

#include "common/environment.h"
#include "lesson02_allreduce/comm.h"

#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_HELLO_BYTES = 44,
    WIRE_REPLY_BYTES = 12,
    WIRE_ADDRESS_BYTES = 24,
    WIRE_FRAME_BYTES = 44,
    WIRE_TEXT_MOST = 768 // bytes of a refusal or of bad news
};

enum wire_purpose { WIRE_JOIN = 1, WIRE_LINK = 2 };
enum wire_answer { WIRE_TABLE = 1, WIRE_REFUSAL = 2 };
enum wire_kind { WIRE_DATA = 1, WIRE_ABORT = 2, WIRE_LEAVE = 3, WIRE_WAIT = 4 };

struct wire_hello {
    enum wire_purpose purpose;
    uint8_t token[ENVIRONMENT_TOKEN_BYTES];
    uint32_t rank, world;
    uint64_t fingerprint;
    uint32_t port; // where this rank listens for links; as in wire_address
};

struct wire_reply {
    enum wire_answer answer;
    uint32_t length_bytes; // of the addresses, one per rank, or of the text
};

enum wire_family { WIRE_UNIX = 1, WIRE_IP4 = 4, WIRE_IP6 = 6 };

struct wire_address {
    enum wire_family family;
    uint32_t port;     // of 16 bits, or the five digits of a Unix socket's name
    uint8_t bytes[16]; // in network order; an IPv4 address fills the first four, a Unix one none
};

struct wire_frame {
    enum wire_kind kind;
    struct comm_call call;
    uint32_t tag;
    uint32_t step;     // frames sent earlier to the same rank in the same call
    uint64_t sequence; // number of the call; of a LEAVE: the calls finished
    uint64_t length_bytes;
};

void wire_put_hello(uint8_t bytes[WIRE_HELLO_BYTES], const struct wire_hello *hello);
void wire_put_reply(uint8_t bytes[WIRE_REPLY_BYTES], const struct wire_reply *reply);
void wire_put_address(uint8_t bytes[WIRE_ADDRESS_BYTES], const struct wire_address *address);
void wire_put_frame(uint8_t bytes[WIRE_FRAME_BYTES], const struct wire_frame *frame);

/* 0; -EPROTO: not one of ours; -EPROTONOSUPPORT (hello and reply): ours, of another version, whatever else it says. */
int wire_get_hello(struct wire_hello *hello, const uint8_t bytes[WIRE_HELLO_BYTES]);
int wire_get_reply(struct wire_reply *reply, const uint8_t bytes[WIRE_REPLY_BYTES]);
int wire_get_address(struct wire_address *address, const uint8_t bytes[WIRE_ADDRESS_BYTES]);
int wire_get_frame(struct wire_frame *frame, const uint8_t bytes[WIRE_FRAME_BYTES]);

/* A text from the wire, fit to print: ends in 0, at most WIRE_TEXT_MOST bytes, no control bytes. */
void wire_get_text(char text[WIRE_TEXT_MOST + 1], const uint8_t *bytes, size_t length_bytes);

#endif
