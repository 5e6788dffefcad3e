/* lock: does somebody hold a worker's lock all the while? */
#ifndef TESTS_LOCK_H
#define TESTS_LOCK_H

#include <stdbool.h>
#include <unistd.h>
#include <uv.h>

/* Is it free within some seconds? They are counted in tries, so that a busy machine gives more of them. */
static inline bool lock_is_free(uv_mutex_t *lock)
{
    for (int tries = 0; tries < 2000; tries++) {
        if (uv_mutex_trylock(lock) == 0) {
            uv_mutex_unlock(lock);
            return true;
        }
        usleep(1000);
    }
    return false;
}

#endif
