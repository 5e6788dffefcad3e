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
