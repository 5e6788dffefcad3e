/*
 * bytes: the first bytes of a file in memory, unpacked if it is gzip, whatever its name says.
 *
 * No more memory is taken than the reader asks for, however much a small file would unpack to. A
 * gzip file that ends within that is read to the end of its last member and every checksum is
 * compared, so that bytes are either all of what was packed, or refused.
 */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include "common/fail.h"
#include "common/memory.h"

#include <stddef.h>

struct bytes {
    unsigned char *data;
    size_t count, room;
    struct memory *memory;
};

/* At most `most` bytes; what follows them is not looked at. 0; -EINVAL when a gzip file is cut off,
 * damaged, or followed by something else; -ENOMEM; or what the system said. Release whatever the
 * outcome. */
int bytes_read(struct bytes *bytes, const char *path, size_t most, struct memory *memory,
               struct fail *fail);

/* Accepts zeroed bytes; ends in these. */
void bytes_release(struct bytes *bytes);

#endif
