/*
 * launch_port: the socket where the ranks will meet, listening before any rank starts.
 *
 * A port that was free when somebody looked may be taken when somebody binds. So nobody looks: the
 * launcher binds (port 0: the system picks one), listens, and hands the socket itself to rank 0.
 */
#ifndef COMMON_LAUNCH_PORT_H
#define COMMON_LAUNCH_PORT_H

#include "common/fail.h"

/* Listens at a numeric IPv4 address. *port 0 becomes the port that was given. The socket, closed
 * on exec, or a negative error naming address and port. */
int launch_port_listen(const char *address, int *port, struct fail *fail);

#endif
