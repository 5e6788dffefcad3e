/* launch_cores: the affinity mask, counted and cut into shares. See the header. */
#ifdef __linux__

#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): glibc asks for it
#include "common/launch_cores.h"

#include <sched.h>
#include <unistd.h>

int launch_cores_count(void)
{
    cpu_set_t set; // taskset and containers allow fewer than there are
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void launch_cores_bind(int local_rank, int local_world)
{
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0 || CPU_COUNT(&allowed) < local_world)
        return;
    int share = CPU_COUNT(&allowed) / local_world, first = share * local_rank, seen = 0;
    CPU_ZERO(&own);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &allowed))
            continue;
        if (seen >= first && seen < first + share)
            CPU_SET(core, &own);
        seen++;
    }
    (void)sched_setaffinity(0, sizeof own, &own);
}

#else

#include "common/launch_cores.h"

#include <unistd.h>

int launch_cores_count(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void launch_cores_bind(int local_rank, int local_world)
{
    (void)local_rank;
    (void)local_world;
}

#endif
