/*
 * network: machines of a test, which are network namespaces with a loopback and an address each.
 *
 *     machine 0        machine 1        machine 2
 *     10.77.0.1        10.77.0.2        10.77.0.3        eth0 of each
 *     10.78.0.1        10.78.0.2        10.78.0.3        eth0:2, over the same cable
 *         |                |                |
 *     ====+================+================+====        a bridge, in a namespace of its own
 *
 * The machine the test runs on has no part in it and sees only the namespaces' names, which begin
 * with this process's number. What a test that was killed has left is removed by the next one.
 */
#ifndef TESTS_NETWORK_H
#define TESTS_NETWORK_H

#include "tests/folder.h"
#include "tests/program.h"

#include <stdbool.h>
#include <sys/types.h>

enum { NETWORK_WHY_BYTES = 128 };

struct network {
    pid_t owner; // in whose name the namespaces are
    int machines;
};

/* Whether this process may make one; if not, why. */
bool network_is_possible(char why[NETWORK_WHY_BYTES]);

void network_open(struct network *network, int machines);
void network_close(const struct network *network);

/* Starts a command on a machine, where `hosts` in the folder is /etc/hosts. The command is one
 * program with its arguments, as the shell reads them. */
void network_start(const struct network *network, int machine, struct program *program,
                   const struct folder *folder, const char *command);

enum network_end { NETWORK_AT_MACHINE, NETWORK_AT_SWITCH };

/* Takes one end of a machine's cable down, and all of them up again. */
void network_cut(const struct network *network, int machine, enum network_end end);
void network_mend(const struct network *network);

#endif
