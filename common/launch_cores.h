/*
 * launch_cores: which cores each rank of this machine may use.
 *
 *     4 cores, 2 ranks:   | 0  1 | 2  3 |      2 cores, 3 ranks: all three wherever they find room
 *                          rank 0 rank 1
 *
 * Two ranks that talk all the time look like one busy process to a scheduler: it puts the one that
 * was just woken beside the one that woke it, and both share a core while another idles. So each
 * rank gets cores of its own, as mpirun does, unless there are more ranks than cores. Only cores
 * that this process may use itself are given away: a taskset or a container's limit holds.
 *
 * Left out: which cores share a cache or are two halves of one; they are taken in the system's
 * order. Linux only; elsewhere ranks are not bound.
 */
#ifndef COMMON_LAUNCH_CORES_H
#define COMMON_LAUNCH_CORES_H

/* How many cores this process may use. */
int launch_cores_count(void);

/* Binds this process, and what it starts, to the share of rank `local_rank` of `local_world`:
 * count / local_world cores. Does nothing when there are more ranks than cores, and when the
 * system refuses: it is about speed alone. */
void launch_cores_bind(int local_rank, int local_world);

#endif
