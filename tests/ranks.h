/*
 * ranks: a test with several ranks. Forks one process per rank, meets over real sockets as under
 * the launcher (a socket bound on 127.0.0.1 is handed to rank 0), runs a function in each, and
 * collects how each one ended. No child outlives the call.
 *
 *     static int body(struct ranks_self *self)      // in each process; no ck_assert in here
 *     {
 *         ...
 *         return ranks_expect(self, sum == 10, "sum is %d", sum);
 *     }
 *
 *     struct ranks_result result;
 *     ranks_run(4, body, NULL, &result);
 *     ranks_assert_ok(&result);
 */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include "lesson02_allreduce/comm.h"

#include <stdbool.h>
#include <stddef.h>

enum { RANKS_MOST = 16, RANKS_TEXT_BYTES = 2048, RANKS_TIMED_OUT = -1 };

/* No rank is given longer than the limit: then all are killed. A communicator's own deadline lies
 * beyond, unless the plan says otherwise: an error that is to come at once, and comes at the
 * deadline instead, never comes. So no test has to say in seconds what "at once" is. */
enum { RANKS_LIMIT_SECONDS = 100, RANKS_NEVER_SECONDS = 1000 };

struct ranks_self {
    int rank, world;
    struct environment environment;
    struct comm_config config;
    struct comm *comm; // open, or NULL when the plan says so; closed after the body
    void *context;
    struct fail fail; // reported to the parent; comm's own error is, when this is empty
};

typedef int ranks_body(struct ranks_self *self);

struct ranks_plan {
    int world;
    ranks_body *body;
    void *context;
    double timeout_seconds;  // of the communicator; 0: never
    int stops;               // so many ranks stop for good: killed once they alone are left
    int socket_buffer_bytes; // 0: the system's
    enum comm_transport transport;
    struct linkspec link; // zeroed: not slowed
    bool unopened;        // the body opens the communicator itself, or does without
    bool unmet;           // joined by pairs of sockets instead: no hello is said
    bool unlaunched;      // rank 0 is handed no socket: it listens at the port it was told
};

struct ranks_result {
    int world;
    int code[RANKS_MOST]; // what the body returned (0 .. 255), 128 + signal, or RANKS_TIMED_OUT
    char text[RANKS_MOST][RANKS_TEXT_BYTES]; // the failure's sentence, "" if none
    char log[RANKS_MOST][RANKS_TEXT_BYTES];  // what start-up wrote to config.log
    bool left[RANKS_MOST]; // with 0, before its body returned: it has shown nothing
    double seconds;        // from the first fork to the last end
};

void ranks_run(int world, ranks_body *body, void *context, struct ranks_result *result);
void ranks_run_plan(const struct ranks_plan *plan, struct ranks_result *result);

/* Fails the test, with what every rank said, unless all ended with 0. For the parent. */
void ranks_assert_ok(const struct ranks_result *result);

/* Was nothing said? But that a stranger was sent away: a rank's door may have a port that another test's job had, and
 * whose ranks still call there. */
bool ranks_quiet(const char *said);

/* For a body: 0 when the condition holds, else 1 with the sentence recorded. */
__attribute__((format(printf, 3, 4))) int ranks_expect(struct ranks_self *self, bool condition,
                                                       const char *format, ...);

/* For a body: does nothing for so long. */
void ranks_pause(double seconds);

/* A socket bound to 127.0.0.1, not yet listening; *port is which: one that the system gives nobody who asks for any. */
int ranks_bind(int *port);

#endif
