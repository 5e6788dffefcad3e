/*
 * host: rank 0's register of who has come.
 *
 *     seat    0     1     2     3        a rank sits once; a second one of the same number
 *            self  here   .    here      stands, and is told; a stranger never sits
 *
 * When every seat is taken, each rank gets the same table of addresses. When that can never be,
 * each rank that came is told why, in one sentence.
 */
#ifndef LESSON02_HOST_H
#define LESSON02_HOST_H

#include "common/environment.h"
#include "common/fail.h"
#include "lesson02_allreduce/door.h"

struct host {
    struct door *door;
    const struct environment *environment;
    uint64_t fingerprint;
    struct guest **seats; // (world): NULL where nobody sits, and for rank 0 itself
    int seated;           // rank 0 included
    int twice;            // the rank that last came while another of its number sat, or -1
    int standing;         // those that did so and are still here
    uint8_t *answer;      // to all, outlives the sending
    uint32_t link_port;   // where rank 0 listens for links
    bool unix_links;      // ports are names of Unix sockets
};

/* The host is zeroed. 0 or -ENOMEM. */
int host_init(struct host *host, struct door *door, const struct environment *environment,
              uint64_t fingerprint);
void host_release(struct host *host);

/* Looks at an introduced guest that wants to join, and seats or dismisses it. 0, or -EINVAL when
 * the job as a whole cannot start: the sentence is in fail. */
int host_admit(struct host *host, struct guest *guest, struct fail *fail);

/* Frees the places of those that have hung up: a rank may be started again. Call it before anyone
 * is admitted, so that one who left is not in the way of one who came after. */
void host_sweep(struct host *host);

/* Everybody has come, some of them twice: -EINVAL and who; else 0. */
int host_check_twice(const struct host *host, struct fail *fail);

/* "rank 2" or "ranks 2, 3", as far as they fit. */
enum { HOST_RANKS_BYTES = 160 };
void host_missing(const struct host *host, char text[HOST_RANKS_BYTES]);

/* Where a rank listens for links. Rank 0's own says only the port: whoever has come here knows the
 * way. */
struct wire_address host_address(const struct host *host, int rank);

/* Tells everyone seated: where all the others listen; or why the job cannot start. */
void host_send_table(struct host *host);
void host_send_refusal(struct host *host, const char *why);

#endif
