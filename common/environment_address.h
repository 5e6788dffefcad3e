/*
 * environment_address: what a user calls a machine, or a way out of one, as a number.
 *
 * A name is looked up once, by the process that read it, and only the number goes on: ranks that
 * each asked again might not agree. Numbers only are IPv4.
 */
#ifndef COMMON_ENVIRONMENT_ADDRESS_H
#define COMMON_ENVIRONMENT_ADDRESS_H

#include "common/environment.h"
#include "common/fail.h"

#include <stdbool.h>

/* A setting as the user wrote it: `text` for its value, `who` to begin a sentence about it with,
 * such as "MASTER_ADDR is 'x'". */
struct environment_setting {
    const char *who, *text;
};

/* The address of a host: a number, localhost, or a name. With `several` machines a name that means
 * this machine's loopback is refused, for others would find themselves there. 0 or -EINVAL. */
int environment_address_of_host(char address[ENVIRONMENT_ADDRESS_BYTES],
                                const struct environment_setting *setting, bool several,
                                struct fail *fail);

/* The address to bind: one of this machine, or the first of the interface so called. 0 or
 * -EINVAL. */
int environment_address_to_bind(char address[ENVIRONMENT_ADDRESS_BYTES],
                                const struct environment_setting *setting, struct fail *fail);

bool environment_address_is_loopback(const char *address);

#endif
