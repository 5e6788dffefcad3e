/* resident: two lines of /proc/self/status. See the header. */
#include "common/resident.h"

#include <stdio.h>
#include <unistd.h>

enum { KIB = 1024 };

bool resident_read(struct resident *resident)
{
    char line[256];
    size_t kib;
    *resident = (struct resident){0};
    FILE *status = fopen("/proc/self/status", "re");
    if (!status)
        return false;
    while (fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmRSS: %zu kB", &kib) == 1)
            resident->now_bytes = kib * KIB;
        if (sscanf(line, "VmHWM: %zu kB", &kib) == 1)
            resident->peak_bytes = kib * KIB;
    }
    fclose(status);
    return resident->now_bytes > 0 && resident->peak_bytes > 0;
}

size_t resident_machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}
