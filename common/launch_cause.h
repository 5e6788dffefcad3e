/*
 * launch_cause: of several ranks that ended, which one is to blame?
 *
 * When a rank dies, its neighbours notice within microseconds and end as well, each with an error
 * that looks like a cause; the system may even report theirs first. The rule:
 *
 *   1. Only a rank that failed (a code other than 0, or a signal) before the launcher stopped the
 *      job can be the cause. After a first failure the launcher waits a moment before it stops
 *      the others, so that all of them are in.
 *   2. One that was killed by a signal comes first: no neighbour kills it by leaving.
 *   3. Then the one whose end was seen first; of those seen at once, the lowest rank.
 *
 * A rank that returned 0 is never a failure by itself: ranks end one after the other. But if the
 * cause by this rule returned 1, as a program does that lost a peer, and another rank had returned
 * 0 before it, then that one is named too: it may have left too early. So is one that a signal had
 * stopped (SIGSTOP, Ctrl-Z) and nothing had let go on: the others may have waited for it.
 */
#ifndef COMMON_LAUNCH_CAUSE_H
#define COMMON_LAUNCH_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LAUNCH_CAUSE_TEXT_BYTES = 768 };

struct launch_end {
    int rank;
    bool ended; // `status` is waitpid's then
    int status;
    size_t order; // of all ends, from 0
    bool stopped; // it ended after the launcher had begun to stop the job
    int halted;   // the signal that held it when that began; 0: it ran
};

/* Asks the system about a process, without waiting. True: it has ended now. What holds it is kept up to date
 * while the job runs by itself. */
bool launch_end_poll(struct launch_end *end, pid_t pid, bool by_itself);

/* The index of the first cause, or count when no rank failed. `ends` stand in rank order. */
size_t launch_cause_find(const struct launch_end *ends, size_t count);

/* What the launcher returns for it: the rank's code, or 128 + signal. */
int launch_cause_code(const struct launch_end *end);

/* Two lines: the first cause, and what followed from it (missing when nothing did). */
void launch_cause_tell(const struct launch_end *ends, size_t count, size_t cause,
                       char text[LAUNCH_CAUSE_TEXT_BYTES]);

#endif
