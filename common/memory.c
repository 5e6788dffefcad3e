/* memory: the ledger of a rank's arrays. See the header. */
#include "common/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN_BYTES = 64, HUGE_PAGE_BYTES = 2 << 20 };

size_t memory_total(const struct memory *memory)
{
    size_t total = 0;
    for (int use = 0; use < MEMORY_USES; use++)
        total += memory->now_bytes[use];
    return total;
}

static void enter(struct memory *memory, enum memory_use use, size_t bytes)
{
    if (!memory)
        return;
    memory->now_bytes[use] += bytes;
    if (memory->peak_bytes[use] < memory->now_bytes[use])
        memory->peak_bytes[use] = memory->now_bytes[use];
    size_t total = memory_total(memory);
    memory->peak_total_bytes = total > memory->peak_total_bytes ? total : memory->peak_total_bytes;
}

static void strike(struct memory *memory, enum memory_use use, size_t bytes)
{
    if (memory)
        memory->now_bytes[use] -= bytes;
}

/* A row of a matrix 1024 wide is a page of 4 KiB, and a product walks down its columns: in pages of 2 MiB it asks
 * for a page's address far less often. Linux gives them to who asks; where it does not, nothing is lost. What
 * does not fill one stays in small pages, so that no more is resident than was asked for. */
static void ask_for_huge_pages(void *array, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    madvise(array, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
#endif
}

void *memory_take(struct memory *memory, enum memory_use use, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN_BYTES)
        return NULL;
    bool large = bytes >= HUGE_PAGE_BYTES;
    size_t rounded = (bytes + ALIGN_BYTES) / ALIGN_BYTES * ALIGN_BYTES; // at least one line
    void *array = NULL;
    if (posix_memalign(&array, large ? HUGE_PAGE_BYTES : ALIGN_BYTES, rounded) != 0)
        return NULL;
    if (large)
        ask_for_huge_pages(array, bytes);
    enter(memory, use, bytes);
    return array;
}

void *memory_grow(struct memory *memory, enum memory_use use, void *array, struct growth bytes)
{
    void *larger = realloc(array, bytes.to > 0 ? bytes.to : 1);
    if (larger) {
        strike(memory, use, array ? bytes.from : 0);
        enter(memory, use, bytes.to);
    }
    return larger;
}

void memory_give_back(struct memory *memory, enum memory_use use, void *array, size_t bytes)
{
    if (!array)
        return;
    strike(memory, use, bytes);
    free(array);
}

float *memory_floats(struct memory *memory, enum memory_use use, size_t count)
{
    if (count > (SIZE_MAX - ALIGN_BYTES) / sizeof(float))
        return NULL;
    float *array = memory_take(memory, use, count * sizeof(float));
    if (array)
        memset(array, 0, count * sizeof(float));
    return array;
}

void memory_return(struct memory *memory, enum memory_use use, float *array, size_t count)
{
    memory_give_back(memory, use, array, count * sizeof(float));
}

const char *memory_use_name(enum memory_use use)
{
    static const char *const names[MEMORY_USES] = {
        "parameters", "gradients", "optimizer", "activations", "buffers", "other",
    };
    return names[use];
}
