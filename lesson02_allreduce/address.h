/* address: an IP address and a port: as the system keeps it, as the wire carries it, as people read
 * it. */
#ifndef LESSON02_ADDRESS_H
#define LESSON02_ADDRESS_H

#include "lesson02_allreduce/wire.h"

#include <stdint.h>
#include <uv.h>

enum { ADDRESS_NAME_BYTES = 64 };

uint16_t address_port(const struct sockaddr_storage *address);
void address_set_port(struct sockaddr_storage *address, uint16_t port);

/* IPv4 or IPv6, whichever the storage's family says. */
struct wire_address address_to_wire(const struct sockaddr_storage *address);
void address_from_wire(struct sockaddr_storage *address, const struct wire_address *wire);

/* "127.0.0.1:29500" */
void address_name(char name[ADDRESS_NAME_BYTES], const struct sockaddr_storage *address);

#endif
