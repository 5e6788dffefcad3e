/*
 * message: a message of fixed size, made from fuzzed bytes.
 *
 *     | which | place bits | place bits | ...     one of our own messages, with some bits turned
 *     |   0   | byte byte byte ...                a stranger's, as it is
 *
 * A place counts from the message's first byte: when a field moves, its seeds move with it.
 */
#ifndef TESTS_FUZZ_MESSAGE_H
#define TESTS_FUZZ_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which of `count` messages of ours the bytes ask for; false: none, they are a stranger's. */
bool message_which(const uint8_t *data, size_t size, size_t count, size_t *which);

/* Turns what was asked for in bytes[0..count), which are ours. True when none was changed. */
bool message_turn(uint8_t *bytes, size_t count, const uint8_t *data, size_t size);

/* bytes[0..count) = the stranger's, followed by zeros. */
void message_copy(uint8_t *bytes, size_t count, const uint8_t *data, size_t size);

#endif
