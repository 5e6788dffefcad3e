/* memory: the ledger of a rank's arrays. See the header. */
#include "common/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 64 };

float *memory_floats(struct memory *memory, enum memory_use use, size_t count)
{
    if (count > (SIZE_MAX - ALIGN_BYTES) / sizeof(float))
        return NULL;
    size_t bytes = count * sizeof(float);
    size_t rounded = (bytes + ALIGN_BYTES) / ALIGN_BYTES * ALIGN_BYTES; // at least one line
    float *array = aligned_alloc(ALIGN_BYTES, rounded);
    if (!array)
        return NULL;
    memset(array, 0, rounded);
    memory->now_bytes[use] += bytes;
    if (memory->peak_bytes[use] < memory->now_bytes[use])
        memory->peak_bytes[use] = memory->now_bytes[use];
    return array;
}

void memory_return(struct memory *memory, enum memory_use use, float *array, size_t count)
{
    if (!array)
        return;
    memory->now_bytes[use] -= count * sizeof(float);
    free(array);
}

const char *memory_use_name(enum memory_use use)
{
    static const char *const names[MEMORY_USES] = {
        "parameters", "gradients", "optimizer", "activations", "buffers", "other",
    };
    return names[use];
}
