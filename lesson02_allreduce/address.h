/*
 * address: where a rank can be reached: as the system keeps it, as the wire carries it, as people
 * read it. An IP address and a port, or the abstract name of a Unix socket (see stream.h), whose
 * five digits are its port.
 */
#ifndef LESSON02_ADDRESS_H
#define LESSON02_ADDRESS_H

#include "lesson02_allreduce/wire.h"

#include <stdint.h>
#include <uv.h>

enum { ADDRESS_NAME_BYTES = 64, ADDRESS_UNIX_DIGITS = 5 };

uint32_t address_port(const struct sockaddr_storage *address);
void address_set_port(struct sockaddr_storage *address, uint32_t port);

/* From a numeric address. 0 or -EINVAL. */
int address_parse(struct sockaddr_storage *address, const char *host, int port);

/* A Unix address with no name yet. */
struct sockaddr_storage address_unix(void);

struct wire_address address_to_wire(const struct sockaddr_storage *address);
void address_from_wire(struct sockaddr_storage *address, const struct wire_address *wire);

/* "127.0.0.1:29500", "unix:0004d" */
void address_name(char name[ADDRESS_NAME_BYTES], const struct sockaddr_storage *address);

#endif
