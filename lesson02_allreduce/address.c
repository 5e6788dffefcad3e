/* address: between the system's form, the wire's and the reader's. See the header. */
#include "lesson02_allreduce/address.h"

#include <stdio.h>
#include <string.h>

uint16_t address_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

void address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

struct wire_address address_to_wire(const struct sockaddr_storage *address)
{
    struct wire_address wire = {.family = 4, .port = address_port(address)};
    if (address->ss_family == AF_INET6) {
        wire.family = 6;
        memcpy(wire.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    } else {
        memcpy(wire.bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return wire;
}

void address_from_wire(struct sockaddr_storage *address, const struct wire_address *wire)
{
    memset(address, 0, sizeof *address);
    if (wire->family == 6) {
        address->ss_family = AF_INET6;
        memcpy(&((struct sockaddr_in6 *)address)->sin6_addr, wire->bytes, 16);
    } else {
        address->ss_family = AF_INET;
        memcpy(&((struct sockaddr_in *)address)->sin_addr, wire->bytes, 4);
    }
    address_set_port(address, wire->port);
}

void address_name(char name[ADDRESS_NAME_BYTES], const struct sockaddr_storage *address)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET6)
        uv_ip6_name((const struct sockaddr_in6 *)address, host, sizeof host);
    else if (address->ss_family == AF_INET)
        uv_ip4_name((const struct sockaddr_in *)address, host, sizeof host);
    snprintf(name, ADDRESS_NAME_BYTES, "%s:%u", host, (unsigned)address_port(address));
}
