/*
 * link: bytes over one connected stream socket, both ways, on a libuv loop.
 *
 *     socket --read--> | consumed | staged, not yet consumed | room |     the staging buffer
 *                                  begin                      end
 *            --read--> memory of the caller's own, while a diversion lasts
 *
 * The loop reads whenever there is room, and stops while there is none, so that a fast sender fills
 * the kernel's buffers and not our memory. Staged bytes stay from one transfer to the next: the
 * sender may already have begun its next frame. A stream knows no messages: a read may end
 * anywhere.
 *
 * A slowed link (slow.h) reads into its line instead, which shows the link what is due. In a build
 * for MPI the bytes come and go by messages, and the file descriptor is a rank (mpi_link.c).
 */
#ifndef LESSON02_LINK_H
#define LESSON02_LINK_H

#include "common/memory.h"
#include "lesson02_allreduce/stream.h"
#include "lesson02_allreduce/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { LINK_STAMP_BYTES = 16 }; // before all that a slowed link writes in one go

/* One message under way. Its memory, and the payload's, stay put until `busy` is false. */
struct parcel {
    uv_write_t request;
    uint8_t stamp[LINK_STAMP_BYTES];
    uint8_t header[WIRE_FRAME_BYTES];
    bool busy;
    int error; // 0, or why it could not be sent
};

struct slow_line;

struct link {
    union stream stream;     // of link.c
    struct mailbox *mailbox; // of mpi_link.c
    bool open;
    struct slow_line *line; // NULL: the link is not slowed

    uint8_t *staging;
    size_t capacity_bytes, begin, end;
    uint8_t *divert; // where the next divert_bytes go, past the staging buffer
    size_t divert_bytes;
    uint64_t received_bytes, doubted_bytes; // so far; and when an end was doubted last
    int error;                              // 0, UV_EOF, or why nothing can be read any more
    bool paused;                            // not reading: no room

    struct memory *memory;               // the ledger, or NULL
    void (*on_bytes)(struct link *link); // called after bytes, or the end, came; may consume
    void *owner;
};

/* The link is zeroed; the caller has set memory, on_bytes and owner, and line if it is slowed. Takes over a
 * connected socket, also when it fails, and starts reading into a staging buffer of at least 4096
 * bytes. 0, or a negative error; link_close is due either way. */
int link_open(struct link *link, uv_loop_t *loop, int fd, size_t staging_bytes);

/* Closes; the loop must run once more before the link's memory goes. Accepts a zeroed link. */
void link_close(struct link *link);

/* After the loop has run: frees the staging buffer. */
void link_release(struct link *link);

/* What the ledger is told of a link with so large a staging buffer. */
size_t link_memory_bytes(size_t staging_bytes);

/* Gives back a socket over which no link was opened. */
void link_discard(int fd);

/* The staged bytes. They stay where they are until consumed or until the loop runs. */
size_t link_staged(const struct link *link, const uint8_t **bytes);
void link_consume(struct link *link, size_t bytes);

/* The next `bytes` bytes go to `memory` directly. Only while nothing is staged. */
void link_divert(struct link *link, void *memory, size_t bytes);

/* Sends a frame with its payload (frame->length_bytes), in one write if the socket takes it; what
 * it does not take at once is queued. Errors are found in the parcel. */
void link_send(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
               const void *payload);

/* The same with only the first now_bytes of the payload: link_send_more sends the rest. */
void link_begin(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
                const void *payload, size_t now_bytes);

/* Sends more bytes, of a payload that was begun. Only while the parcel is not busy. */
void link_send_more(struct link *link, struct parcel *parcel, const void *bytes, size_t size_bytes);

/* Of busy parcels: what the system has not taken yet. */
size_t link_queued_bytes(const struct link *link);

/* --- for what fills a link ------------------------------------------------------------------- */

/* Where the next bytes go, and how many of them; and they are there. */
uint8_t *link_space(struct link *link, size_t *bytes);
void link_took(struct link *link, size_t bytes);

/* There is room again: read on. */
void link_resume(struct link *link);

/* How much may be shown; shows bytes, or the end, as if they had been read just now. */
size_t link_room(struct link *link);
void link_show(struct link *link, const uint8_t *bytes, size_t size_bytes);
void link_show_end(struct link *link, int error);

#endif
