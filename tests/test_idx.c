/* IDX folders are read whole, plain or packed, or refused with the file and what is wrong in it. */
#include "common/idx.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 7, ROWS = 2, COLUMNS = 3, WIDTH = ROWS * COLUMNS, ROOM = 128 };
enum { IMAGES_BYTES = 16 + COUNT * WIDTH, LABELS_BYTES = 8 + COUNT };

static const char *const names[2] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};

/* A folder with both files as they should be, for a test to spoil. */
struct idx {
    struct folder folder;
    unsigned char images[ROOM], labels[ROOM];
    struct table table;
    struct memory memory;
    struct fail fail;
};

static void put(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put_header(unsigned char *bytes, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(bytes + 4 * i, values[i]);
}

static void write_file(const struct idx *idx, const char *name, const unsigned char *bytes,
                       size_t count, bool packed)
{
    char path[512];
    folder_write(&idx->folder, name, bytes, count, packed, path);
}

static void start(struct idx *idx)
{
    static const uint32_t images[] = {2051, COUNT, ROWS, COLUMNS}, labels[] = {2049, COUNT};
    *idx = (struct idx){0};
    folder_open(&idx->folder);
    put_header(idx->images, images, 4);
    put_header(idx->labels, labels, 2);
    for (size_t i = 0; i < COUNT * WIDTH; i++)
        idx->images[16 + i] = (unsigned char)(255 - i);
    for (size_t i = 0; i < COUNT; i++)
        idx->labels[8 + i] = (unsigned char)(9 - i);
    write_file(idx, names[0], idx->images, IMAGES_BYTES, false);
    write_file(idx, names[1], idx->labels, LABELS_BYTES, false);
}

static int read_idx(struct idx *idx)
{
    table_release(&idx->table);
    idx->fail = (struct fail){0};
    return idx_read(&idx->table, idx->folder.path, false, &idx->memory, &idx->fail);
}

static void assert_as_written(struct idx *idx)
{
    int code = read_idx(idx);
    ck_assert_msg(code == 0, "%s", idx->fail.text);
    ck_assert_uint_eq(idx->table.count, COUNT);
    ck_assert_uint_eq(idx->table.width, WIDTH);
    ck_assert_uint_eq(idx->table.classes, 10);
    for (size_t i = 0; i < COUNT * WIDTH; i++)
        ck_assert_float_eq(idx->table.features[i], (float)(255 - i) / 255);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_float_eq(idx->table.targets[i], (float)(9 - i));
}

static void assert_refused(struct idx *idx, const char *const words[4])
{
    ck_assert_int_lt(read_idx(idx), 0);
    for (size_t i = 0; i < 4 && words[i]; i++)
        ck_assert_msg(strstr(idx->fail.text, words[i]), "'%s' is not named in: %s", words[i],
                      idx->fail.text);
}

static void done(struct idx *idx)
{
    table_release(&idx->table);
    ck_assert_uint_eq(idx->memory.now_bytes[MEMORY_BUFFERS], 0);
    folder_close(&idx->folder);
}

static void remove_file(const struct idx *idx, const char *name)
{
    char path[512];
    ck_assert_int_eq(remove(folder_path(&idx->folder, name, path)), 0);
}

START_TEST(plain_and_packed_files_are_read_under_either_name)
{
    bool packed = _i & 1, ending = _i & 2;
    struct idx idx;
    start(&idx);
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", names[i], ending ? ".gz" : "");
        remove_file(&idx, names[i]);
        write_file(&idx, name, i ? idx.labels : idx.images, i ? LABELS_BYTES : IMAGES_BYTES,
                   packed);
    }
    assert_as_written(&idx);
    done(&idx);
}
END_TEST

/* One field of a header changed, and what the refusal names. */
static const struct {
    int file;
    size_t field;
    uint32_t value;
    const char *words[4];
} fields[] = {
    {0, 0, 2049, {"train-images", "expected the magic number 2051", "found 2049 (labels)"}},
    {1, 0, 2051, {"train-labels", "expected the magic number 2049", "found 2051 (images)"}},
    {0, 0, 0, {"train-images", "2051", "found 0"}},
    {0, 1, 0, {"train-images", "at least one sample", "found 0"}},
    {0, 2, 0, {"train-images", "row of pixels", "found 0"}},
    {0, 3, 0, {"train-images", "column of pixels", "found 0"}},
    {0, 1, COUNT + 1, {"train-images", "expected 48 bytes", "found 42", "cut off"}},
    {0, 1, COUNT - 1, {"train-images", "expected 36 bytes", "found more", "longer than it says"}},
    {0, 1, UINT32_MAX, {"train-images", "expected 25769803770 bytes", "found 42"}},
    {1, 1, COUNT + 1, {"train-labels", "expected 8 bytes", "found 7", "cut off"}},
    {1, 1, COUNT - 1, {"train-labels", "expected 6 bytes", "found more", "longer than it says"}},
};
enum { FIELDS = sizeof fields / sizeof *fields };

START_TEST(a_header_that_is_wrong_is_refused)
{
    struct idx idx;
    start(&idx);
    unsigned char *bytes = fields[_i].file ? idx.labels : idx.images;
    put(bytes + 4 * fields[_i].field, fields[_i].value);
    for (int packed = 0; packed < 2; packed++) {
        write_file(&idx, names[fields[_i].file], bytes,
                   fields[_i].file ? LABELS_BYTES : IMAGES_BYTES, packed);
        assert_refused(&idx, fields[_i].words);
    }
    done(&idx);
}
END_TEST

START_TEST(a_promise_past_all_memory_is_refused)
{
    static const uint32_t header[] = {2051, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct idx idx;
    start(&idx);
    put_header(idx.images, header, 4);
    write_file(&idx, names[0], idx.images, IMAGES_BYTES, false);
    assert_refused(&idx, (const char *const[4]){"train-images", "more than memory"});
    done(&idx);
}
END_TEST

START_TEST(counts_that_disagree_are_both_named)
{
    struct idx idx;
    start(&idx);
    put(idx.labels + 4, COUNT - 1);
    write_file(&idx, names[1], idx.labels, LABELS_BYTES - 1, false);
    assert_refused(&idx, (const char *const[4]){names[0], "7 images", names[1], "6 labels"});
    done(&idx);
}
END_TEST

START_TEST(a_plain_file_cut_off_anywhere_is_refused)
{
    struct idx idx;
    start(&idx);
    for (size_t bytes = 0; bytes < IMAGES_BYTES; bytes++) {
        write_file(&idx, names[0], idx.images, bytes, false);
        assert_refused(&idx, (const char *const[4]){names[0], "expected", "found"});
    }
    write_file(&idx, names[0], idx.images, IMAGES_BYTES, false);
    for (size_t bytes = 0; bytes < LABELS_BYTES; bytes++) {
        write_file(&idx, names[1], idx.labels, bytes, false);
        assert_refused(&idx, (const char *const[4]){names[1], "expected", "found"});
    }
    done(&idx);
}
END_TEST

/* The packed images as bytes, to spoil and to write as they are. */
static size_t packed_images(const struct idx *idx, unsigned char *bytes, size_t room)
{
    char path[512];
    folder_write(&idx->folder, "packed", idx->images, IMAGES_BYTES, true, path);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t count = fread(bytes, 1, room, file);
    fclose(file);
    ck_assert(count > 18 && count < room);
    return count;
}

START_TEST(a_packed_file_cut_off_anywhere_is_refused)
{
    struct idx idx;
    unsigned char packed[2 * ROOM];
    start(&idx);
    size_t count = packed_images(&idx, packed, sizeof packed);
    for (size_t bytes = 0; bytes < count; bytes++) {
        write_file(&idx, names[0], packed, bytes, false);
        assert_refused(&idx, (const char *const[4]){names[0], bytes < 2 ? "found" : "cut off"});
    }
    write_file(&idx, names[0], packed, count, false);
    assert_as_written(&idx);
    done(&idx);
}
END_TEST

/* From the end: in the length, in the checksum, in the data. */
START_TEST(a_packed_file_with_a_damaged_byte_is_refused)
{
    static const size_t from_end[] = {1, 4, 5, 8, 20};
    struct idx idx;
    unsigned char packed[2 * ROOM];
    start(&idx);
    size_t count = packed_images(&idx, packed, sizeof packed);
    packed[count - from_end[_i]] ^= 0x40;
    write_file(&idx, names[0], packed, count, false);
    assert_refused(&idx, (const char *const[4]){names[0], "gzip data is damaged"});
    done(&idx);
}
END_TEST

START_TEST(bytes_behind_the_data_are_refused)
{
    struct idx idx;
    unsigned char packed[2 * ROOM];
    start(&idx);
    write_file(&idx, names[0], idx.images, IMAGES_BYTES + 1, false);
    assert_refused(&idx, (const char *const[4]){names[0], "expected 42", "found more"});
    write_file(&idx, names[0], idx.images, IMAGES_BYTES + 1, true);
    assert_refused(&idx, (const char *const[4]){names[0], "expected 42", "found more"});
    size_t count = packed_images(&idx, packed, sizeof packed - 4);
    memcpy(packed + count, "more", 4);
    write_file(&idx, names[0], packed, count + 4, false);
    assert_refused(&idx, (const char *const[4]){names[0], "gzip data is damaged"});
    done(&idx);
}
END_TEST

START_TEST(a_packed_file_may_have_several_members)
{
    struct idx idx;
    char path[512], part_path[512];
    unsigned char part[2 * ROOM];
    start(&idx);
    FILE *file = fopen(folder_path(&idx.folder, names[0], path), "wb");
    ck_assert_ptr_nonnull(file);
    for (size_t begin = 0; begin < IMAGES_BYTES; begin += 20) {
        size_t bytes = IMAGES_BYTES - begin < 20 ? IMAGES_BYTES - begin : 20;
        folder_write(&idx.folder, "part", idx.images + begin, bytes, true, part_path);
        FILE *in = fopen(part_path, "rb");
        ck_assert_ptr_nonnull(in);
        fwrite(part, 1, fread(part, 1, sizeof part, in), file);
        fclose(in);
    }
    fclose(file);
    assert_as_written(&idx);
    done(&idx);
}
END_TEST

START_TEST(a_file_that_is_missing_or_a_folder_is_named)
{
    struct idx idx;
    char path[512];
    start(&idx);
    remove_file(&idx, names[_i]);
    assert_refused(&idx, (const char *const[4]){idx.folder.path, names[_i], ".gz", "neither"});
    ck_assert_int_eq(mkdir(folder_path(&idx.folder, names[_i], path), 0700), 0);
    assert_refused(&idx, (const char *const[4]){names[_i], "directory"});
    done(&idx);
}
END_TEST

/* --- files that unpack to far more than they are --------------------------------------------- */

enum { MEMBER_BYTES = 16 << 20, MEMBERS = 64, GROWTH_MOST_KIB = 16 << 10, PACKED_ROOM = 1 << 20 };

static void append(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "ab");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

/* The images as they should be, or none, and then 1 GiB of zeros. */
static void write_bomb(const struct idx *idx, size_t images_bytes)
{
    char path[512], member_path[512];
    unsigned char *zeros = calloc(1, MEMBER_BYTES), *packed = malloc(PACKED_ROOM);
    ck_assert(zeros && packed);
    folder_write(&idx->folder, "member", zeros, MEMBER_BYTES, true, member_path);
    FILE *file = fopen(member_path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t count = fread(packed, 1, PACKED_ROOM, file);
    fclose(file);
    ck_assert(count > 0 && count < PACKED_ROOM);
    folder_write(&idx->folder, names[0], idx->images, images_bytes, true, path);
    for (int i = 0; i < MEMBERS; i++)
        append(path, packed, count);
    free(packed);
    free(zeros);
}

/* The most memory this process has had; Linux counts it so. */
static long peak_kib(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void assert_small(struct idx *idx, const char *const words[4])
{
    long before = peak_kib();
    assert_refused(idx, words);
    ck_assert_int_lt(peak_kib() - before, GROWTH_MOST_KIB);
    done(idx);
}

START_TEST(a_small_file_that_unpacks_to_a_gibibyte_is_refused_in_little_memory)
{
    struct idx idx;
    start(&idx);
    write_bomb(&idx, _i == 0 ? 0 : IMAGES_BYTES);
    assert_small(&idx, _i == 0 ? (const char *const[4]){names[0], "magic number 2051", "found 0"}
                               : (const char *const[4]){names[0], "longer than it says"});
}
END_TEST

START_TEST(a_plain_file_of_a_gibibyte_is_refused_in_little_memory)
{
    struct idx idx;
    char path[512];
    start(&idx);
    ck_assert_int_eq(
        truncate(folder_path(&idx.folder, names[0], path), (off_t)MEMBERS * MEMBER_BYTES), 0);
    assert_small(&idx, (const char *const[4]){names[0], "longer than it says"});
}
END_TEST

Suite *idx_suite(void)
{
    Suite *suite = suite_create("idx");
    TCase *tcase = tcase_create("idx");
    tcase_add_loop_test(tcase, plain_and_packed_files_are_read_under_either_name, 0, 4);
    tcase_add_loop_test(tcase, a_header_that_is_wrong_is_refused, 0, FIELDS);
    tcase_add_test(tcase, a_promise_past_all_memory_is_refused);
    tcase_add_test(tcase, counts_that_disagree_are_both_named);
    tcase_add_test(tcase, a_plain_file_cut_off_anywhere_is_refused);
    tcase_add_test(tcase, a_packed_file_cut_off_anywhere_is_refused);
    tcase_add_loop_test(tcase, a_packed_file_with_a_damaged_byte_is_refused, 0, 5);
    tcase_add_test(tcase, bytes_behind_the_data_are_refused);
    tcase_add_test(tcase, a_packed_file_may_have_several_members);
    tcase_add_loop_test(tcase, a_file_that_is_missing_or_a_folder_is_named, 0, 2);
    tcase_add_loop_test(tcase, a_small_file_that_unpacks_to_a_gibibyte_is_refused_in_little_memory,
                        0, 2);
    tcase_add_test(tcase, a_plain_file_of_a_gibibyte_is_refused_in_little_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
