/*
 * slow: makes links as slow as --link says, by keeping bytes out of sight until they are due.
 *
 *     sender's port           the line              receiver's port
 *     one record after        latency, give or      one packet after
 *     another, at its rate    take the jitter       another, at its rate
 *
 * Each rank has one port, which all its links share, and which sends and hears at once. What a link
 * writes in one go is a record: | leaves 8 | length 8 | bytes |, where `leaves` is when the port begins
 * with it. Nobody waits for that moment: the bytes go at once, and whoever reads them works out
 * when each packet of them would have come. So lateness adds up nowhere: who looks late finds what
 * came in time. But a packet is never seen early.
 *
 * A packet is what a port lets through in half a millisecond. Packet k of a link comes late by its own
 * draw of the jitter, (seed, RNG_LINK, from x world + to, k), but never before packet k - 1.
 *
 * Two ranks need one clock for this, so all must be on one machine. Packets are not lost, and their
 * headers weigh nothing.
 */
#ifndef LESSON02_SLOW_H
#define LESSON02_SLOW_H

#include "common/linkspec.h"
#include "lesson02_allreduce/link.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct slow; // a rank's port

/* The port of this rank, filed in this ledger, which may be NULL. NULL: no memory. */
struct slow *slow_open(const struct linkspec *spec, int rank, int world, uint64_t seed,
                       struct memory *memory);

/* What the ledger is told of a port all of whose links are slow; 0 where the spec slows none. */
size_t slow_memory_bytes(const struct linkspec *spec, int rank, int world);

/* Accepts NULL. */
void slow_close(struct slow *slow);

/* Makes the link to rank `peer` a slow one: link->line. Before it is opened. 0 or -ENOMEM. */
int slow_link(struct slow *slow, int peer, struct link *link);

/* Shows the links all that is due. Returns when the next packet is, or INFINITY. */
double slow_show(struct slow *slow);

/* --- for links ------------------------------------------------------------------------------- */

/* The next record of a link, `bytes` long, passes this rank's port. */
void slow_stamp(struct slow_line *line, uint8_t stamp[LINK_STAMP_BYTES], size_t bytes);

/* Room for what comes from the socket. Then so many bytes have come, or, below 0, the end has. */
uint8_t *slow_room(struct slow_line *line, size_t *bytes);
void slow_read(struct slow_line *line, ssize_t result);

/* A write has failed, so the peer is gone: what it said last, perhaps why, is shown at once. */
void slow_hasten(struct slow_line *line);

#endif
