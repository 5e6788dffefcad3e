/*
 * bench: what an all-reduce costs on this machine, by size and algorithm, and what the cost model
 * says it should.
 *
 * For each size, calls begin together (a barrier before each), and the slowest rank's time counts.
 * Several algorithms take turns, round by round; the tables are printed when all has been measured.
 * Algorithm bandwidth is bytes / time; bus bandwidth is that times 2 (R - 1) / R, the least that a
 * rank must send. Predicted are the medians, from a ping-pong's alpha and beta (pingpong.h) and the
 * model of costmodel.h; the error is (predicted - median) / median.
 */
#ifndef LESSON02_BENCH_H
#define LESSON02_BENCH_H

#include "common/fail.h"
#include "lesson02_allreduce/comm.h"

#include <stdbool.h>
#include <stdio.h>

struct bench {
    FILE *out; // rank 0 prints there
    enum comm_transport transport;
    const char *link;         // how slow links were made, or NULL
    enum algorithm algorithm; // the one that the communicator's choice was made from
    bool all;                 // measure every algorithm instead, and compare
    size_t most_bytes;        // the largest vector; 4 at least
    const char *tuning;       // with `all`, rank 0 writes the measured choice here; or NULL
};

/* Every rank calls it, with the same bench. The communicator's choice is changed. A place where the
 * choice cannot be written is refused before anything is measured. 0, or an error that fail tells. */
int bench_allreduce(const struct bench *bench, struct comm *comm, struct fail *fail);

#endif
