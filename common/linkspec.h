/*
 * linkspec: what a slowed link is to be like, as `--link` says it.
 *
 *     100mbit,2ms,jitter 1ms,straggler 3
 *     rate    latency, one way, give or take 1 ms; rank 3's port has a quarter of the rate
 *
 * The rate is that of each rank's port, the same out and in. What makes it so: slow.h of lesson 2.
 */
#ifndef COMMON_LINKSPEC_H
#define COMMON_LINKSPEC_H

#include "common/fail.h"

enum { LINKSPEC_STRAGGLER_SHARE = 4 }; // its rate is the rate divided by this

struct linkspec {
    double bytes_per_second; // 0: links are as fast as they are, and nothing below counts
    double latency_seconds;
    double jitter_seconds; // at most the latency
    int straggler;         // a rank, or -1
};

/* 0, or -EINVAL with what was expected and found. */
int linkspec_read(struct linkspec *spec, const char *text, struct fail *fail);

#endif
