/*
 * resident: a process's memory as the operating system counts it: the pages that lie in memory now.
 *
 * More than the ledger's, for it holds what libraries keep (OpenBLAS alone some MiB of buffers), code
 * and stacks too, and whole pages; less, where an array was taken and a page of it never touched.
 */
#ifndef COMMON_RESIDENT_H
#define COMMON_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

struct resident {
    size_t now_bytes, peak_bytes; // VmRSS and VmHWM of /proc/self/status
};

/* False where the system has no such file: then both are 0. */
bool resident_read(struct resident *resident);

/* What all programs of this machine may share, or 0 where that is not known. */
size_t resident_machine_bytes(void);

#endif
