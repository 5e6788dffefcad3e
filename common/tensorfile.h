/*
 * tensorfile: named arrays of floats in a file any safetensors reader opens.
 *
 *     | 8 bytes: length of the header | header: JSON | data, one tensor after another |
 *
 * The header maps a name to {"dtype":"F32","shape":[...],"data_offsets":[begin,end]}, and
 * "__metadata__" to strings. Format: github.com/huggingface/safetensors, README, "Format".
 * Only F32 is written or read. A file is written aside and renamed into place when it is whole:
 * a reader sees the old file or the new one, never a part.
 */
#ifndef COMMON_TENSORFILE_H
#define COMMON_TENSORFILE_H

#include "common/fail.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Values and the length go to the file as they lie in memory, which is the format's byte order. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensorfile: safetensors files are little-endian, this machine is not");

enum { TENSORFILE_NAME_BYTES = 64, TENSORFILE_DIMENSIONS_MOST = 4 };

struct tensorfile_entry {
    char name[TENSORFILE_NAME_BYTES];
    size_t dimensions;
    size_t shape[TENSORFILE_DIMENSIONS_MOST];
    size_t count;        // elements: the product of the shape
    size_t offset_bytes; // from the start of the data; filled by reader and writer
};

/* --- writing --------------------------------------------------------------------------------- */

struct tensorfile_writer; // opaque

/* Collects what the file will hold; no file is touched yet. NULL: out of memory. */
struct tensorfile_writer *tensorfile_new(void);

/* Declare in the order of writing. 0, -EINVAL (a name twice or too long), -ENOMEM. */
int tensorfile_declare(struct tensorfile_writer *writer, const char *name, const size_t *shape,
                       size_t dimensions, struct fail *fail);
int tensorfile_meta(struct tensorfile_writer *writer, const char *key, const char *value,
                    struct fail *fail);

/* Opens `path`.tmp-PID and writes the header. Then one tensorfile_write per declared tensor, in
 * order, each of its whole count. */
int tensorfile_begin(struct tensorfile_writer *writer, const char *path, struct fail *fail);
int tensorfile_write(struct tensorfile_writer *writer, const float *values, size_t count,
                     struct fail *fail);

/* The same in several runs of values, for a tensor that is never in memory as a whole. An empty tensor is
 * written by a run of 0. */
int tensorfile_write_run(struct tensorfile_writer *writer, const float *values, size_t count,
                         struct fail *fail);

/* Flushes to the disk (fsync), renames into place. The file is not there before this returns 0. */
int tensorfile_commit(struct tensorfile_writer *writer, struct fail *fail);

/* Frees the writer; removes the file aside if it was not committed. NULL is accepted. */
void tensorfile_discard(struct tensorfile_writer *writer);

/* --- reading --------------------------------------------------------------------------------- */

struct tensorfile_reader; // opaque

/* Opens and checks the whole header: length, JSON, type, shapes, offsets that tile the data, and
 * the file's size. 0, or a negative error naming the file and what is wrong with it. */
int tensorfile_open(struct tensorfile_reader **reader, const char *path, struct fail *fail);
void tensorfile_close(struct tensorfile_reader *reader);

size_t tensorfile_count(const struct tensorfile_reader *reader);
const struct tensorfile_entry *tensorfile_at(const struct tensorfile_reader *reader, size_t index);
const struct tensorfile_entry *tensorfile_find(const struct tensorfile_reader *reader,
                                               const char *name); // NULL: not there
const char *tensorfile_meta_find(const struct tensorfile_reader *reader,
                                 const char *key); // or NULL

/* Reads `count` elements of an entry, from element `begin` on, into values. */
int tensorfile_read(const struct tensorfile_reader *reader, const struct tensorfile_entry *entry,
                    size_t begin, float *values, size_t count, struct fail *fail);

#endif
