/*
 * memory: the ledger. Every array a rank trains with is taken and returned through it, filed by
 * use, so that "how much does a rank keep for the optimizer?" is counted, not estimated.
 *
 * One ledger per rank, passed by pointer: several ranks fit in one process. Not locked: arrays are
 * taken at set-up, by one thread; the step loop takes none.
 *
 * Counted are the bytes that were asked for. Not filed, as a rank trains with none of it: the
 * structs and plans on main's stack, threads' stacks, what libraries keep for themselves (OpenBLAS,
 * libuv, stdio, zlib, jansson), the meeting before the first step, and what is taken and given
 * back while a file is read or written: paths, headers, a tile of 64 KiB of a checkpoint. The operating system counts those too: resident.h.
 */
#ifndef COMMON_MEMORY_H
#define COMMON_MEMORY_H

#include <stddef.h>

enum memory_use {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_ACTIVATIONS,
    MEMORY_BUFFERS, // communication and data staging
    MEMORY_OTHER,   // traces; in a ledger of its own, verification's second copies
    MEMORY_USES,
};

struct memory {
    size_t now_bytes[MEMORY_USES];
    size_t peak_bytes[MEMORY_USES]; // each by itself
    size_t peak_total_bytes;        // of all of them together
};

/* An array of `count` floats, all zero, 64-byte aligned. Never NULL for count 0.
 * NULL when there is no memory. Give it back with memory_return and the same use and count. */
float *memory_floats(struct memory *memory, enum memory_use use, size_t count);

/* NULL is accepted and does nothing. */
void memory_return(struct memory *memory, enum memory_use use, float *array, size_t count);

/* The same in bytes, not cleared. memory may be NULL: a test's array is in no ledger. */
void *memory_take(struct memory *memory, enum memory_use use, size_t bytes);
void memory_give_back(struct memory *memory, enum memory_use use, void *array, size_t bytes);

/* As realloc does, for what is read before its size is known; not aligned. array may be NULL. */
struct growth {
    size_t from, to; // bytes
};
void *memory_grow(struct memory *memory, enum memory_use use, void *array, struct growth bytes);

/* What is filed now, all uses together. */
size_t memory_total(const struct memory *memory);

/* "parameters", "gradients", ... */
const char *memory_use_name(enum memory_use use);

#endif
