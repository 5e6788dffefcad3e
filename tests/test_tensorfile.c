/* What is written is the format, byte for byte; a failing write leaves the old file; a file that
 * is wrong in any way is refused, by name, before it is used. */
#include "common/tensorfile.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

struct place {
    struct folder folder;
    char path[PATH_BYTES], aside[PATH_BYTES + 64];
};

static void place_make(struct place *place)
{
    folder_open(&place->folder);
    folder_path(&place->folder, "a.st", place->path);
    snprintf(place->aside, sizeof place->aside, "%s.tmp-%ld", place->path, (long)getpid());
}

/* Fails when anything but the one file was left behind. */
static void place_remove(const struct place *place)
{
    unlink(place->path);
    ck_assert_int_eq(rmdir(place->folder.path), 0);
}

static size_t slurp(const char *path, char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

/* One tensor "w" of `count` elements with the values 0, 1, 2, ...; what begin to commit
 * returned. */
static int write_ramp(const char *path, size_t count, struct fail *fail)
{
    struct tensorfile_writer *writer = tensorfile_new();
    float *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)i;
    int status = tensorfile_declare(writer, "w", &count, 1, fail);
    if (!status)
        status = tensorfile_begin(writer, path, fail);
    if (!status)
        status = tensorfile_write(writer, values, count, fail);
    if (!status)
        status = tensorfile_commit(writer, fail);
    tensorfile_discard(writer);
    free(values);
    return status;
}

START_TEST(the_file_is_the_format_byte_for_byte)
{
    static const char header[] = "{\"__metadata__\":{\"step\":\"3\"},"
                                 "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
    static const float w[2] = {1, -2}, b = 0.5f;
    struct place place;
    struct fail fail = {0};
    char bytes[1024], *at = bytes;
    uint64_t length;
    place_make(&place);
    struct tensorfile_writer *writer = tensorfile_new();
    ck_assert_int_eq(tensorfile_meta(writer, "step", "3", &fail), 0);
    ck_assert_int_eq(tensorfile_declare(writer, "w", (size_t[]){2, 1}, 2, &fail), 0);
    ck_assert_int_eq(tensorfile_declare(writer, "b", NULL, 0, &fail), 0);
    ck_assert_int_eq(tensorfile_begin(writer, place.path, &fail), 0);
    ck_assert_int_eq(tensorfile_write(writer, w, 2, &fail), 0);
    ck_assert_int_eq(tensorfile_write(writer, &b, 1, &fail), 0);
    ck_assert_int_eq(tensorfile_commit(writer, &fail), 0);
    tensorfile_discard(writer);
    size_t size = slurp(place.path, bytes, sizeof bytes);
    memcpy(&length, at, sizeof length);
    ck_assert_uint_eq(length, (sizeof header - 1 + 7) / 8 * 8);
    ck_assert_uint_eq(size, 8 + length + 12);
    ck_assert_mem_eq(at + 8, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < length; i++)
        ck_assert_int_eq(at[8 + i], ' ');
    ck_assert_mem_eq(at + 8 + length, w, sizeof w);
    ck_assert_mem_eq(at + 8 + length + 8, &b, sizeof b);
    place_remove(&place);
}
END_TEST

START_TEST(the_file_is_not_there_before_commit)
{
    struct place place;
    struct fail fail = {0};
    float value = 1;
    place_make(&place);
    struct tensorfile_writer *writer = tensorfile_new();
    ck_assert_int_eq(tensorfile_declare(writer, "w", NULL, 0, &fail), 0);
    ck_assert_int_eq(tensorfile_begin(writer, place.path, &fail), 0);
    ck_assert_int_eq(tensorfile_write(writer, &value, 1, &fail), 0);
    ck_assert_int_eq(access(place.path, F_OK), -1);
    ck_assert_int_eq(access(place.aside, F_OK), 0);
    tensorfile_discard(writer);
    ck_assert_int_eq(access(place.aside, F_OK), -1);
    place_remove(&place);
}
END_TEST

/* In a process of its own: a limit on file sizes does what a full disk does. */
static int write_with_limit(const char *path, size_t count, rlim_t limit_bytes)
{
    pid_t child = fork();
    if (child == 0) {
        struct fail fail = {0};
        struct rlimit limit = {limit_bytes, limit_bytes};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        int status = write_ramp(path, count, &fail);
        _exit(status == -EFBIG && strstr(fail.text, path) ? 42 : status ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const rlim_t limits[] = {0, 50, 100, 4096, 39999}; // in the header, the data, the last bytes

START_TEST(a_full_disk_is_an_error_and_leaves_the_old_file)
{
    struct place place;
    struct fail fail = {0};
    char before[1024], after[1024];
    place_make(&place);
    ck_assert_int_eq(write_ramp(place.path, 3, &fail), 0);
    size_t size = slurp(place.path, before, sizeof before);
    ck_assert_int_eq(write_with_limit(place.path, 10000, limits[_i]), 42);
    ck_assert_uint_eq(slurp(place.path, after, sizeof after), size);
    ck_assert_mem_eq(before, after, size);
    place_remove(&place); // and nothing was left aside
}
END_TEST

START_TEST(a_new_file_replaces_the_old_one)
{
    struct place place;
    struct fail fail = {0};
    char bytes[1024];
    place_make(&place);
    ck_assert_int_eq(write_ramp(place.path, 3, &fail), 0);
    size_t size = slurp(place.path, bytes, sizeof bytes);
    ck_assert_int_eq(write_ramp(place.path, 5, &fail), 0);
    ck_assert_uint_eq(slurp(place.path, bytes, sizeof bytes), size + 8);
    place_remove(&place);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_named)
{
    struct fail fail = {0};
    ck_assert_int_eq(write_ramp("/nowhere/at/all.st", 3, &fail), -ENOENT);
    ck_assert_ptr_nonnull(strstr(fail.text, "/nowhere/at/all.st"));
}
END_TEST

START_TEST(what_cannot_be_declared_is_refused_by_name)
{
    struct tensorfile_writer *writer = tensorfile_new();
    struct fail fails[8] = {0};
    char longest[TENSORFILE_NAME_BYTES + 1];
    size_t vast[4] = {(size_t)1 << 32, (size_t)1 << 31, 1, 1}, wide[5] = {1, 1, 1, 1, 1};
    memset(longest, 'n', TENSORFILE_NAME_BYTES);
    longest[TENSORFILE_NAME_BYTES] = '\0';
    ck_assert_int_eq(tensorfile_declare(writer, "w", NULL, 0, &fails[0]), 0);
    ck_assert_int_eq(tensorfile_declare(writer, "w", NULL, 0, &fails[1]), -EINVAL);
    ck_assert_int_eq(tensorfile_declare(writer, "", NULL, 0, &fails[2]), -EINVAL);
    ck_assert_int_eq(tensorfile_declare(writer, "__metadata__", NULL, 0, &fails[3]), -EINVAL);
    ck_assert_int_eq(tensorfile_declare(writer, longest, NULL, 0, &fails[4]), -EINVAL);
    ck_assert_int_eq(tensorfile_declare(writer, "v", vast, 4, &fails[5]), -EINVAL);
    ck_assert_int_eq(tensorfile_declare(writer, "d", wide, 5, &fails[6]), -EINVAL);
    ck_assert_int_eq(tensorfile_meta(writer, "k", "\xff", &fails[7]), -EINVAL);
    ck_assert_ptr_nonnull(strstr(fails[1].text, "'w' is declared twice"));
    ck_assert_ptr_nonnull(strstr(fails[5].text, "'v'"));
    longest[TENSORFILE_NAME_BYTES - 1] = '\0';
    ck_assert_int_eq(tensorfile_declare(writer, longest, NULL, 0, &fails[0]), 0);
    tensorfile_discard(writer);
}
END_TEST

START_TEST(tensors_are_written_in_order_whole_and_all)
{
    struct place place;
    struct fail fails[4] = {0};
    static const float values[3] = {0};
    place_make(&place);
    struct tensorfile_writer *writer = tensorfile_new();
    ck_assert_int_eq(tensorfile_write(writer, values, 1, &fails[0]), -EINVAL); // not begun
    ck_assert_int_eq(tensorfile_declare(writer, "w", (size_t[]){3}, 1, &fails[3]), 0);
    ck_assert_int_eq(tensorfile_begin(writer, place.path, &fails[3]), 0);
    ck_assert_int_eq(tensorfile_write(writer, values, 2, &fails[1]), -EINVAL);
    ck_assert_int_eq(tensorfile_commit(writer, &fails[2]), -EINVAL);
    ck_assert_ptr_nonnull(strstr(fails[1].text, "'w' has 3 elements, not 2"));
    tensorfile_discard(writer);
    place_remove(&place);
}
END_TEST

START_TEST(discarding_nothing_is_fine)
{
    tensorfile_discard(NULL);
    tensorfile_discard(tensorfile_new());
}
END_TEST

/* --- reading --------------------------------------------------------------------------------- */

START_TEST(what_was_written_is_read_back)
{
    static const float w[6] = {1, 2, 3, 4, 5, 6}, b = -7;
    struct place place;
    struct fail fail = {0};
    float back[6] = {0};
    place_make(&place);
    struct tensorfile_writer *writer = tensorfile_new();
    for (int i = 0; i < 40; i++) { // more than the writer makes room for at first
        char name[24];
        snprintf(name, sizeof name, "empty%d", i);
        ck_assert_int_eq(tensorfile_declare(writer, name, (size_t[]){0, 5}, 2, &fail), 0);
    }
    ck_assert_int_eq(tensorfile_declare(writer, "w", (size_t[]){2, 3}, 2, &fail), 0);
    ck_assert_int_eq(tensorfile_declare(writer, "b", NULL, 0, &fail), 0);
    ck_assert_int_eq(tensorfile_meta(writer, "seed", "\"1\"\n\xc3\xa9", &fail), 0);
    ck_assert_int_eq(tensorfile_begin(writer, place.path, &fail), 0);
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(tensorfile_write(writer, NULL, 0, &fail), 0);
    ck_assert_int_eq(tensorfile_write(writer, w, 6, &fail), 0);
    ck_assert_int_eq(tensorfile_write(writer, &b, 1, &fail), 0);
    ck_assert_int_eq(tensorfile_commit(writer, &fail), 0);
    tensorfile_discard(writer);

    struct tensorfile_reader *reader;
    ck_assert_int_eq(tensorfile_open(&reader, place.path, &fail), 0);
    ck_assert_uint_eq(tensorfile_count(reader), 42);
    const struct tensorfile_entry *entry = tensorfile_find(reader, "w");
    ck_assert_ptr_eq(tensorfile_at(reader, 40), entry);
    ck_assert(entry->dimensions == 2 && entry->shape[0] == 2 && entry->shape[1] == 3);
    ck_assert_uint_eq(entry->count, 6);
    ck_assert_int_eq(tensorfile_read(reader, entry, 0, back, 6, &fail), 0);
    ck_assert_mem_eq(back, w, sizeof w);
    ck_assert_int_eq(tensorfile_read(reader, entry, 4, back, 2, &fail), 0);
    ck_assert_mem_eq(back, w + 4, 2 * sizeof *w);
    ck_assert_int_eq(tensorfile_read(reader, tensorfile_find(reader, "b"), 0, back, 1, &fail), 0);
    ck_assert(back[0] == b);
    ck_assert_str_eq(tensorfile_meta_find(reader, "seed"), "\"1\"\n\xc3\xa9");
    ck_assert_ptr_null(tensorfile_meta_find(reader, "step"));
    ck_assert_ptr_null(tensorfile_find(reader, "weight"));
    ck_assert_ptr_null(tensorfile_at(reader, 42));
    tensorfile_close(reader);
    place_remove(&place);
}
END_TEST

START_TEST(reading_past_a_tensor_is_refused)
{
    struct place place;
    struct fail fails[3] = {0};
    float back[4];
    struct tensorfile_reader *reader;
    place_make(&place);
    ck_assert_int_eq(write_ramp(place.path, 3, &fails[0]), 0);
    ck_assert_int_eq(tensorfile_open(&reader, place.path, &fails[0]), 0);
    const struct tensorfile_entry *entry = tensorfile_at(reader, 0);
    ck_assert_int_eq(tensorfile_read(reader, entry, 0, back, 4, &fails[0]), -EINVAL);
    ck_assert_int_eq(tensorfile_read(reader, entry, 3, back, 1, &fails[1]), -EINVAL);
    ck_assert_int_eq(tensorfile_read(reader, entry, SIZE_MAX, back, 2, &fails[2]), -EINVAL);
    tensorfile_close(reader);
    place_remove(&place);
}
END_TEST

#define ENTRY(type, shape, offsets)                                                                \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* A file of `length` (or the header's own length when 0), the header, and zero bytes. */
static const struct {
    const char *header;
    uint64_t length;
    size_t data_bytes;
    const char *said; // part of the sentence; NULL: a good file
} files[] = {
    {"{}", 0, 0, NULL},
    {"{}      ", 0, 0, NULL},
    {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") "}", 0, 8, NULL},
    {"{\"w\":" ENTRY("F32", "[]", "[0,4]") "}", 0, 4, NULL},
    {"{\"w\":" ENTRY("F32", "[3,0]", "[0,0]") "}", 0, 0, NULL},
    {"{\"b\":" ENTRY("F32", "[1]", "[4,8]") ",\"a\":" ENTRY("F32", "[1]", "[0,4]") "}", 0, 8, NULL},
    {"{\"b\":" ENTRY("F32", "[1]", "[0,4]") ",\"a\":" ENTRY("F32", "[0]", "[4,4]") "}", 0, 4, NULL},
    {"{\"b\":" ENTRY("F32", "[1]", "[0,4]") ",\"a\":" ENTRY("F32", "[0]", "[0,0]") "}", 0, 4, NULL},
    {"{\"__metadata__\":{\"k\":\"v\"}}", 0, 0, NULL},

    {"", 0, 0, "not a JSON object"},
    {"{}", 3, 0, "is truncated"},
    {"{}", (uint64_t)1 << 63, 0, "9223372036854775808 bytes"},
    {"{}", UINT64_MAX, 0, "18446744073709551615 bytes"},
    {"{}", 100000001, 0, "100000001 bytes"},
    {"{}", 100000000, 0, "is truncated"},
    {"[]", 0, 0, "not a JSON object"},
    {" {}", 0, 0, "not a JSON object"},
    {"{\"w\":", 0, 0, "not valid JSON"},
    {"{} {}", 0, 0, "not valid JSON"},
    {"{\"w\\u0000\":{}}", 0, 0, "not valid JSON"},
    {"{\"\xff\":{}}", 0, 0, "not valid JSON"},
    {"{\"w\":" ENTRY("F32", "[1]", "[0,4]") ",\"w\":" ENTRY("F32", "[1]", "[0,4]") "}", 0, 4,
     "not valid JSON"},
    {"{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, 0, "not valid JSON"},
    {"{\"__metadata__\":[]}", 0, 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, 0, "metadata 'k' is not a string"},
    {"{\"w\":7}", 0, 0, "'w' has no dtype"},
    {"{\"w\":{}}", 0, 0, "'w' has no dtype"},
    {"{\"w\":{\"dtype\":1}}", 0, 0, "'w' has no dtype"},
    {"{\"w\":" ENTRY("BF16", "[2]", "[0,4]") "}", 0, 4, "'w' has dtype BF16"},
    {"{\"w\":" ENTRY("F64", "[2]", "[0,16]") "}", 0, 16, "'w' has dtype F64"},
    {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 0, 4, "'w' has no shape"},
    {"{\"w\":" ENTRY("F32", "{}", "[0,4]") "}", 0, 4, "'w' has no shape"},
    {"{\"w\":" ENTRY("F32", "[1,1,1,1,1]", "[0,4]") "}", 0, 4, "more dimensions"},
    {"{\"w\":" ENTRY("F32", "[-1]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[-1,-1]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1.0]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1e0]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[\"1\"]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[true]", "[0,4]") "}", 0, 4, "not made of whole numbers"},
    {"{\"w\":" ENTRY("F32", "[18446744073709551616]", "[0,4]") "}", 0, 4, "not valid JSON"},
    {"{\"w\":" ENTRY("F32", "[4294967296,4294967296]", "[0,0]") "}", 0, 0, "product does not fit"},
    {"{\"w\":" ENTRY("F32", "[4611686018427387904]", "[0,0]") "}", 0, 0, "bytes do not fit"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 4, "not two whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1]", "[0]") "}", 0, 4, "not two whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1]", "[0,4,8]") "}", 0, 4, "not two whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1]", "[-4,0]") "}", 0, 4, "not two whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1]", "[0,4.0]") "}", 0, 4, "not two whole numbers"},
    {"{\"w\":" ENTRY("F32", "[1]", "[4,0]") "}", 0, 4, "end before they begin"},
    {"{\"w\":" ENTRY("F32", "[2]", "[0,4]") "}", 0, 4, "disagrees with its offsets"},
    {"{\"w\":" ENTRY("F32", "[]", "[0,0]") "}", 0, 0, "disagrees with its offsets"},
    {"{\"w\":" ENTRY("F32", "[1]", "[4,8]") "}", 0, 8, "a hole after 0"},
    {"{\"a\":" ENTRY("F32", "[1]", "[0,4]") ",\"b\":" ENTRY("F32", "[1]", "[8,12]") "}", 0, 12,
     "'b' begins at byte 8 of the data, a hole after 4"},
    {"{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":" ENTRY("F32", "[1]", "[4,8]") "}", 0, 8,
     "'b' begins at byte 4 of the data, an overlap before 8"},
    {"{\"a\":" ENTRY("F32", "[1]", "[0,4]") ",\"b\":" ENTRY("F32", "[1]", "[0,4]") "}", 0, 4,
     "an overlap before 4"},
    {"{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":" ENTRY("F32", "[0]", "[4,4]") "}", 0, 8,
     "an overlap before 8"},
    {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") "}", 0, 7, "is truncated: 7 bytes of data of 8"},
    {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") "}", 0, 0, "is truncated: 0 bytes of data of 8"},
    {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") "}", 0, 9, "has 1 extra bytes"},
    {"{}", 0, 4, "has 4 extra bytes"},
    {"{\"\":" ENTRY("F32", "[1]", "[0,4]") "}", 0, 4, "a tensor's name has 0 bytes"},
    {"{\"\\u001b[2J\":" ENTRY("F32", "[1]", "[0,4]") "}", 0, 4, "control characters"},
    {"{\"1234567890123456789012345678901234567890123456789012345678901234\":" ENTRY("F32", "[1]",
                                                                                    "[0,4]") "}",
     0, 4, "a tensor's name has 64 bytes"},
};
enum { FILES = sizeof files / sizeof *files };

START_TEST(every_header_is_read_or_refused_by_name)
{
    struct place place;
    struct fail fail = {0};
    struct tensorfile_reader *reader;
    static const char zeros[64];
    place_make(&place);
    FILE *file = fopen(place.path, "wb");
    uint64_t length = files[_i].length ? files[_i].length : strlen(files[_i].header);
    fwrite(&length, sizeof length, 1, file);
    fwrite(files[_i].header, 1, strlen(files[_i].header), file);
    fwrite(zeros, 1, files[_i].data_bytes, file);
    fclose(file);
    int status = tensorfile_open(&reader, place.path, &fail);
    if (files[_i].said) {
        ck_assert_msg(status == -EINVAL, "%s was read", files[_i].header);
        ck_assert_ptr_null(reader);
        ck_assert_ptr_nonnull(strstr(fail.text, place.path));
        ck_assert_msg(strstr(fail.text, files[_i].said) != NULL, "said: %s", fail.text);
    } else {
        ck_assert_msg(status == 0, "%s", fail.text);
        tensorfile_close(reader);
    }
    place_remove(&place);
}
END_TEST

/* Cut anywhere, a good file is never read in part. */
START_TEST(a_file_cut_anywhere_is_refused)
{
    struct place place;
    struct fail none = {0};
    struct tensorfile_reader *reader;
    struct stat status;
    place_make(&place);
    ck_assert_int_eq(write_ramp(place.path, 3, &none), 0);
    ck_assert_int_eq(stat(place.path, &status), 0);
    for (off_t size = status.st_size - 1; size >= 0; size--) {
        struct fail fail = {0};
        ck_assert_int_eq(truncate(place.path, size), 0);
        ck_assert_int_eq(tensorfile_open(&reader, place.path, &fail), -EINVAL);
        ck_assert_ptr_nonnull(strstr(fail.text, "truncated"));
    }
    place_remove(&place);
}
END_TEST

START_TEST(what_is_no_file_is_refused_without_waiting)
{
    struct place place;
    struct fail fails[3] = {0};
    struct tensorfile_reader *reader;
    place_make(&place);
    ck_assert_int_eq(tensorfile_open(&reader, place.path, &fails[0]), -ENOENT);
    ck_assert_ptr_nonnull(strstr(fails[0].text, place.path));
    ck_assert_int_eq(tensorfile_open(&reader, place.folder.path, &fails[1]), -EINVAL);
    ck_assert_int_eq(mkfifo(place.path, 0600), 0);
    ck_assert_int_eq(tensorfile_open(&reader, place.path, &fails[2]), -EINVAL);
    place_remove(&place);
}
END_TEST

Suite *tensorfile_suite(void)
{
    Suite *suite = suite_create("tensorfile");
    TCase *writing = tcase_create("writing");
    tcase_add_test(writing, the_file_is_the_format_byte_for_byte);
    tcase_add_test(writing, the_file_is_not_there_before_commit);
    tcase_add_loop_test(writing, a_full_disk_is_an_error_and_leaves_the_old_file, 0, 5);
    tcase_add_test(writing, a_new_file_replaces_the_old_one);
    tcase_add_test(writing, a_folder_that_is_not_there_is_named);
    tcase_add_test(writing, what_cannot_be_declared_is_refused_by_name);
    tcase_add_test(writing, tensors_are_written_in_order_whole_and_all);
    tcase_add_test(writing, discarding_nothing_is_fine);
    suite_add_tcase(suite, writing);
    TCase *reading = tcase_create("reading");
    tcase_add_test(reading, what_was_written_is_read_back);
    tcase_add_test(reading, reading_past_a_tensor_is_refused);
    tcase_add_loop_test(reading, every_header_is_read_or_refused_by_name, 0, FILES);
    tcase_add_test(reading, a_file_cut_anywhere_is_refused);
    tcase_add_test(reading, what_is_no_file_is_refused_without_waiting);
    suite_add_tcase(suite, reading);
    return suite;
}
