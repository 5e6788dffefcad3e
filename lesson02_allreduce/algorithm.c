/* algorithm: the ways to add up a vector, by name. See the header. */
#include "lesson02_allreduce/algorithm.h"

const char *algorithm_name(enum algorithm algorithm)
{
    static const char *const names[] = {
        [ALGORITHM_RING] = "ring",       [ALGORITHM_ROOT] = "root",     [ALGORITHM_TREE] = "tree",
        [ALGORITHM_HALVING] = "halving", [ALGORITHM_DIRECT] = "direct", [ALGORITHM_AUTO] = "auto",
    };
    return names[algorithm];
}

size_t algorithm_direct_whole_bytes(int world)
{
    return world == 2 ? 256 * 1024 : 8 * 1024;
}

bool algorithm_ignores_cuts(enum algorithm algorithm)
{
    return algorithm != ALGORITHM_RING && algorithm != ALGORITHM_AUTO;
}

static bool in_rank_order(enum algorithm algorithm)
{
    return algorithm == ALGORITHM_ROOT || algorithm == ALGORITHM_DIRECT;
}

bool algorithm_adds_alike(enum algorithm one, enum algorithm other)
{
    return one == other ? algorithm_ignores_cuts(one) : in_rank_order(one) && in_rank_order(other);
}
