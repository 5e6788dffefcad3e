/*
 * memory: the ledger. Every array a rank trains with is taken and returned through it, filed by
 * use, so that "how much does a rank keep for the optimizer?" is counted, not estimated.
 *
 * One ledger per rank, passed by pointer: several ranks fit in one process. Not locked: arrays are
 * taken at set-up, by one thread; the step loop takes none.
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
    MEMORY_OTHER,   // verification's second copies, among others
    MEMORY_USES,
};

struct memory {
    size_t now_bytes[MEMORY_USES];
    size_t peak_bytes[MEMORY_USES];
};

/* An array of `count` floats, all zero, 64-byte aligned. Never NULL for count 0.
 * NULL when there is no memory. Give it back with memory_return and the same use and count. */
float *memory_floats(struct memory *memory, enum memory_use use, size_t count);

/* NULL is accepted and does nothing. */
void memory_return(struct memory *memory, enum memory_use use, float *array, size_t count);

/* "parameters", "gradients", ... */
const char *memory_use_name(enum memory_use use);

#endif
