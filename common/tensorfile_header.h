/*
 * tensorfile_header: the JSON of a tensor file, checked whole before any of it is used.
 *
 * Each entry by itself: type F32, a shape of whole numbers whose product agrees with the offsets.
 * And all entries together: sorted by offset they must tile the data,
 *
 *     0        8            20                size of the data
 *     | bias   | weight     | ...             |      no hole, no overlap, nothing missing or left
 */
#ifndef COMMON_TENSORFILE_HEADER_H
#define COMMON_TENSORFILE_HEADER_H

#include "common/fail.h"
#include "common/tensorfile.h"

#include <jansson.h>
#include <stddef.h>

struct tensorfile_header {
    const char *path;  // of the file, for the sentences; the caller's
    size_t data_bytes; // what the file holds after the header
    json_t *json;
    struct tensorfile_entry *entries; // (count), in the order of the data
    size_t count;
};

/* `path` and `data_bytes` are set. 0, -EINVAL naming what is wrong, -ENOMEM. Release whatever the
 * outcome. */
int tensorfile_header_parse(struct tensorfile_header *header, const char *text, size_t length,
                            struct fail *fail);

/* Accepts a zeroed header; ends in one. */
void tensorfile_header_release(struct tensorfile_header *header);

/* A string of the metadata, or NULL. */
const char *tensorfile_header_meta(const struct tensorfile_header *header, const char *key);

#endif
