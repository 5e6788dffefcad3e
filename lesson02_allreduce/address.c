/* address: between the system's form, the wire's and the reader's. See the header. */
#include "lesson02_allreduce/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static char *unix_digits(struct sockaddr_storage *address)
{
    return ((struct sockaddr_un *)address)->sun_path + 1; // an abstract name begins with a zero
}

uint32_t address_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_UNIX) {
        struct sockaddr_storage copy = *address;
        return (uint32_t)strtoul(unix_digits(&copy), NULL, 16);
    }
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

void address_set_port(struct sockaddr_storage *address, uint32_t port)
{
    if (address->ss_family == AF_UNIX)
        snprintf(unix_digits(address), ADDRESS_UNIX_DIGITS + 1, "%05x", port & 0xfffff);
    else if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

int address_parse(struct sockaddr_storage *address, const char *host, int port)
{
    *address = (struct sockaddr_storage){0};
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)address) == 0)
        return 0;
    return uv_ip6_addr(host, port, (struct sockaddr_in6 *)address);
}

struct sockaddr_storage address_unix(void)
{
    return (struct sockaddr_storage){.ss_family = AF_UNIX};
}

struct wire_address address_to_wire(const struct sockaddr_storage *address)
{
    struct wire_address wire = {.family = WIRE_IP4, .port = address_port(address)};
    if (address->ss_family == AF_UNIX) {
        wire.family = WIRE_UNIX;
    } else if (address->ss_family == AF_INET6) {
        wire.family = WIRE_IP6;
        memcpy(wire.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    } else {
        memcpy(wire.bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return wire;
}

void address_from_wire(struct sockaddr_storage *address, const struct wire_address *wire)
{
    memset(address, 0, sizeof *address);
    if (wire->family == WIRE_UNIX) {
        address->ss_family = AF_UNIX;
    } else if (wire->family == WIRE_IP6) {
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
    if (address->ss_family == AF_UNIX) {
        snprintf(name, ADDRESS_NAME_BYTES, "unix:%05x", address_port(address));
        return;
    }
    if (address->ss_family == AF_INET6)
        uv_ip6_name((const struct sockaddr_in6 *)address, host, sizeof host);
    else if (address->ss_family == AF_INET)
        uv_ip4_name((const struct sockaddr_in *)address, host, sizeof host);
    snprintf(name, ADDRESS_NAME_BYTES, "%s:%u", host, (unsigned)address_port(address));
}
