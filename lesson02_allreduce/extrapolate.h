/*
 * extrapolate: what a ring would take on more ranks than anyone has at home.
 *
 * R ranks on M = R / 8 hosts of 8. Within a host a message takes alpha + n beta as measured;
 * between hosts a + n b, and all of a host's ranks share its one link. A round of a ring lasts as
 * long as its slowest link, and of a flat ring one link of each host leads outside:
 *
 *     flat           2 (R - 1) max(alpha, a) + 2 n (R - 1)/R max(beta, b) + n (R - 1)/R gamma
 *     hierarchical   within a host, reduce-scatter and all-gather, a ring of 8 over n:
 *                        2 (8 - 1) alpha + 2 n 7/8 beta + n 7/8 gamma
 *                    between them, 8 rings at once, each of M over n/8, on one link per host:
 *                        2 (M - 1) a + 2 n (M - 1)/M b + n/8 (M - 1)/M gamma
 *
 * Both send about 2 n over a host's link; what the hierarchy saves is latency, 8 times fewer slow
 * messages in a row. (Chan et al. 2007, see costmodel.h, build hybrids of rows and columns so.)
 * On one host (M = 1) the two are the same ring.
 */
#ifndef LESSON02_EXTRAPOLATE_H
#define LESSON02_EXTRAPOLATE_H

#include "lesson02_allreduce/costmodel.h"

enum { EXTRAPOLATE_HOST_RANKS = 8 };

/* Nobody has measured this one: 30 us and 25 Gbit/s, as one would expect of TCP over Ethernet. */
static const struct cost_link EXTRAPOLATE_OUTER = {.alpha_seconds = 30e-6,
                                                   .beta_seconds = 8 / 25e9};

/* Seconds of an all-reduce. World: EXTRAPOLATE_HOST_RANKS times the hosts. `outer` has no gamma
 * of its own: additions are made within a host. A rank has a core, whatever inner->cores says. */
double extrapolate_flat(const struct cost_link *inner, const struct cost_link *outer, int world,
                        size_t bytes);
double extrapolate_hierarchical(const struct cost_link *inner, const struct cost_link *outer,
                                int world, size_t bytes);

/* 8, 64, 512 and 4096 ranks by 1 MiB, 64 MiB and 1 GiB, with the assumptions and omissions. */
void extrapolate_print(FILE *out, const struct cost_link *inner);

#endif
