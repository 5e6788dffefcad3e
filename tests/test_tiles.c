/* Arrays in a file: every element comes by once in a pass, in order, and what was read is what was
 * written, or the pass ends with an error. */
#include "lesson04_zero/tiles.h"
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_MOST = 100, PASSES = 4 };

struct bench {
    struct folder folder;
    char path[512];
    struct tilefile_plan plan;
    struct memory memory;
    struct fail fail;
    struct tiles tiles;
};

static void bench_open(struct bench *bench, size_t count, size_t arrays, size_t tile)
{
    *bench = (struct bench){0};
    folder_open(&bench->folder);
    folder_path(&bench->folder, "d", bench->path);
    bench->plan = (struct tilefile_plan){bench->path, 7, count, arrays, tile};
    ck_assert_msg(tiles_open(&bench->tiles, &bench->plan, &bench->memory, &bench->fail) == 0, "%s",
                  bench->fail.text);
}

static void bench_close(struct bench *bench)
{
    tiles_close(&bench->tiles);
    ck_assert_uint_eq(bench->memory.now_bytes[MEMORY_OPTIMIZER], 0);
    folder_close(&bench->folder);
}

/* What an update makes of an element: no two are treated alike. */
static float changed(float value, size_t array, size_t element)
{
    return value * 3 + (float)(element * 8 + array + 1);
}

static int pass(struct bench *bench)
{
    struct tile tile;
    tiles_begin(&bench->tiles);
    while (tiles_next(&bench->tiles, &tile))
        for (size_t array = 0; array < bench->plan.arrays; array++)
            for (size_t i = 0; i < tile.part.count; i++)
                tile.array[array][i] = changed(tile.array[array][i], array, tile.part.begin + i);
    return tiles_end(&bench->tiles, &bench->fail);
}

static const size_t counts[] = {0, 1, 2, 3, 7, 10, 100}, tiles_of[] = {1, 2, 3, 7, 50, 1000};
enum { COUNTS = sizeof counts / sizeof *counts, TILES = sizeof tiles_of / sizeof *tiles_of };

START_TEST(an_update_through_tiles_is_one_in_memory_for_any_count_and_tile)
{
    struct bench bench;
    float expected[TILES_ARRAYS_MOST][COUNT_MOST] = {0}, found[COUNT_MOST];
    size_t count = counts[_i % COUNTS], arrays = 1 + (size_t)_i / COUNTS % TILES_ARRAYS_MOST;
    bench_open(&bench, count, arrays, tiles_of[_i / COUNTS / TILES_ARRAYS_MOST]);
    struct slice all = {0, count};
    for (size_t i = 0; i < PASSES; i++) {
        ck_assert_int_eq(pass(&bench), 0);
        for (size_t array = 0; array < arrays; array++) {
            for (size_t j = 0; j < count; j++)
                expected[array][j] = changed(expected[array][j], array, j);
            ck_assert_int_eq(tiles_get(&bench.tiles, array, all, found, &bench.fail), 0);
            ck_assert(memcmp(found, expected[array], count * sizeof *found) == 0);
        }
    }
    struct tiles_moved moved = tiles_moved(&bench.tiles);
    ck_assert_uint_eq(moved.read_bytes, PASSES * arrays * count * sizeof(float));
    ck_assert_uint_eq(moved.written_bytes, PASSES * arrays * count * sizeof(float));
    bench_close(&bench);
}
END_TEST

START_TEST(any_part_is_put_and_got_and_nothing_beside_it)
{
    struct bench bench;
    float kept[2][COUNT_MOST] = {0}, found[COUNT_MOST], put[COUNT_MOST];
    bench_open(&bench, COUNT_MOST, 2, tiles_of[_i]);
    for (size_t turn = 0; turn < 60; turn++) {
        size_t array = turn % 2, begin = turn * 37 % COUNT_MOST;
        struct slice part = {begin, turn * 13 % (COUNT_MOST - begin + 1)}, all = {0, COUNT_MOST};
        for (size_t i = 0; i < part.count; i++)
            put[i] = kept[array][begin + i] = (float)(turn * 1000 + i);
        ck_assert_int_eq(tiles_put(&bench.tiles, array, part, put, &bench.fail), 0);
        ck_assert_int_eq(tiles_get(&bench.tiles, array, part, found, &bench.fail), 0);
        ck_assert(memcmp(found, put, part.count * sizeof *found) == 0);
        for (array = 0; array < 2; array++) {
            ck_assert_int_eq(tiles_get(&bench.tiles, array, all, found, &bench.fail), 0);
            ck_assert(memcmp(found, kept[array], sizeof found) == 0);
        }
    }
    bench_close(&bench);
}
END_TEST

/* What is kept of the last part asked for is not what a pass leaves. */
START_TEST(a_part_is_read_again_after_a_pass)
{
    struct bench bench;
    float found;
    bench_open(&bench, 40, 1, 10);
    for (size_t at = 0; at < 40; at++) {
        struct slice part = {at, 1};
        float before;
        ck_assert_int_eq(tiles_get(&bench.tiles, 0, part, &before, &bench.fail), 0);
        ck_assert_int_eq(pass(&bench), 0);
        ck_assert_int_eq(tiles_get(&bench.tiles, 0, part, &found, &bench.fail), 0);
        ck_assert(found == changed(before, 0, at));
    }
    bench_close(&bench);
}
END_TEST

/* Three tiles, and never more than all there is, but for its cut into equal ones. */
START_TEST(memory_is_three_tiles_of_each_array_and_the_hashes)
{
    static const struct {
        size_t count, tile, floats, hashes;
    } rows[] = {{100, 10, 30, 10}, {100, 7, 21, 15}, {100, 60, 100, 2}, {101, 40, 102, 3},
                {5, 1000, 5, 1},   {1, 1, 1, 1},     {0, 10, 0, 0}};
    for (size_t arrays = 1; arrays <= TILES_ARRAYS_MOST; arrays++) {
        struct bench bench;
        bench_open(&bench, rows[_i].count, arrays, rows[_i].tile);
        size_t bytes = arrays * (rows[_i].floats * sizeof(float) + rows[_i].hashes * 8);
        ck_assert_uint_eq(bench.memory.now_bytes[MEMORY_OPTIMIZER], bytes);
        ck_assert_uint_eq(tiles_bytes(&bench.plan), bytes);
        bench_close(&bench);
    }
}
END_TEST

/* --- at the same time ------------------------------------------------------------------------ */

static void await_given(struct tiles *tiles, enum tiles_stage stage, size_t count)
{
    size_t given = 0;
    while (given < count) { // for ever, if it never comes: then the test's limit ends it
        uv_mutex_lock(&tiles->lock);
        given = tiles->given[stage];
        uv_mutex_unlock(&tiles->lock);
        usleep(100);
    }
    ck_assert_uint_eq(given, count);
}

START_TEST(tiles_ahead_are_read_and_those_behind_written_while_one_is_in_use)
{
    struct bench bench;
    struct tile tile;
    bench_open(&bench, 60, 2, 10);
    for (size_t turn = 0; turn < 2; turn++) {
        tiles_begin(&bench.tiles);
        for (size_t i = 0; tiles_next(&bench.tiles, &tile); i++) {
            await_given(&bench.tiles, TILES_READER, i + 3 < 6 ? i + 3 : 6);
            await_given(&bench.tiles, TILES_WRITER, i);
        }
        ck_assert_int_eq(tiles_end(&bench.tiles, &bench.fail), 0);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(a_pass_may_be_left_at_any_tile)
{
    struct bench bench;
    struct tile tile;
    bench_open(&bench, 50, 1, 10);
    tiles_begin(&bench.tiles);
    for (int i = 0; i < _i; i++)
        ck_assert(tiles_next(&bench.tiles, &tile));
    bench_close(&bench);
}
END_TEST

/* --- the file -------------------------------------------------------------------------------- */

static size_t files_in(const char *directory)
{
    size_t count = 0;
    DIR *folder = opendir(directory);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

START_TEST(two_in_one_folder_do_not_meet_and_leave_nothing)
{
    struct bench bench;
    struct tiles other;
    float one = 1, two = 2, found;
    struct slice last = {9, 1};
    bench_open(&bench, 10, 1, 4);
    ck_assert_int_eq(tiles_open(&other, &bench.plan, &bench.memory, &bench.fail), 0);
    ck_assert_uint_eq(files_in(bench.path), 0); // not even now
    ck_assert_int_eq(tiles_put(&bench.tiles, 0, last, &one, &bench.fail), 0);
    ck_assert_int_eq(tiles_put(&other, 0, last, &two, &bench.fail), 0);
    ck_assert_int_eq(tiles_get(&bench.tiles, 0, last, &found, &bench.fail), 0);
    ck_assert(found == one);
    tiles_close(&other);
    bench_close(&bench);
}
END_TEST

/* What somebody may do to a file between two passes, or a disk by itself. */
static void cut_off(int file)
{
    ck_assert_int_eq(ftruncate(file, 100), 0);
}

static void cut_off_and_grown_again(int file)
{
    ck_assert_int_eq(ftruncate(file, 100), 0);
    ck_assert_int_eq(ftruncate(file, 160), 0);
}

static void changed_by_a_bit(int file)
{
    char byte;
    ck_assert_int_eq(pread(file, &byte, 1, 77), 1);
    byte ^= 64;
    ck_assert_int_eq(pwrite(file, &byte, 1, 77), 1);
}

static void not_written_at_last(int file)
{
    static const float zeros[10];
    ck_assert_int_eq(pwrite(file, zeros, sizeof zeros, 40), sizeof zeros); // as it was at first
}

static void gone_wrong(int file)
{
    int full = open("/dev/full", O_RDWR);
    ck_assert_int_eq(dup2(full, file), file);
    close(full);
}

static const struct {
    void (*happens)(int file);
    int error;
    const char *words;
} mishaps[] = {
    {cut_off, -EIO, "rank 7's state in "},
    {cut_off, -EIO, " ends at byte 100: something has cut it off"},
    {cut_off_and_grown_again, -EIO, " is not what was written: something has changed bytes 80 to"},
    {changed_by_a_bit, -EIO, " is not what was written: something has changed bytes 40 to 79"},
    {not_written_at_last, -EIO, " is not what was written: something has changed bytes 40 to 79"},
    {gone_wrong, -EIO, " is not what was written"},
};
enum { MISHAPS = sizeof mishaps / sizeof *mishaps };

START_TEST(a_file_that_is_not_what_was_written_is_an_error_and_never_numbers)
{
    struct bench bench;
    struct tile tile;
    bench_open(&bench, 40, 1, 10);
    ck_assert_int_eq(pass(&bench), 0);
    mishaps[_i].happens(bench.tiles.file.file.file);
    ck_assert_int_eq(pass(&bench), mishaps[_i].error);
    ck_assert_msg(strstr(bench.fail.text, mishaps[_i].words) != NULL, "%s", bench.fail.text);
    tiles_begin(&bench.tiles); // and it stays one
    ck_assert(!tiles_next(&bench.tiles, &tile));
    ck_assert_int_eq(tiles_end(&bench.tiles, &bench.fail), mishaps[_i].error);
    bench_close(&bench);
}
END_TEST

START_TEST(a_part_that_is_not_what_was_written_is_an_error)
{
    struct bench bench;
    float found[40];
    bench_open(&bench, 40, 1, 10);
    ck_assert_int_eq(pass(&bench), 0);
    mishaps[_i].happens(bench.tiles.file.file.file);
    int error = tiles_get(&bench.tiles, 0, (struct slice){5, 30}, found, &bench.fail);
    ck_assert_int_eq(error, mishaps[_i].error);
    error = tiles_put(&bench.tiles, 0, (struct slice){5, 30}, found, &bench.fail);
    ck_assert_int_eq(error, mishaps[_i].error);
    bench_close(&bench);
}
END_TEST

/* /dev/full reads as zeros, which is what a new file holds, and takes nothing. */
START_TEST(a_disk_that_takes_no_more_ends_the_pass)
{
    struct bench bench;
    if (access("/dev/full", W_OK) != 0)
        return;
    bench_open(&bench, 40, 1, 10);
    gone_wrong(bench.tiles.file.file.file);
    ck_assert_int_eq(pass(&bench), -ENOSPC);
    ck_assert_msg(strstr(bench.fail.text, "cannot write byte 0 of rank 7's state in ") &&
                      strstr(bench.fail.text, "No space left"),
                  "%s", bench.fail.text);
    bench_close(&bench);
}
END_TEST

static int refused(struct bench *bench, const char *directory)
{
    struct tiles tiles;
    bench->plan.directory = directory;
    bench->fail = (struct fail){0};
    int error = tiles_open(&tiles, &bench->plan, &bench->memory, &bench->fail);
    tiles_close(&tiles);
    return error;
}

START_TEST(a_place_that_cannot_be_written_is_refused_by_its_name)
{
    struct bench bench;
    char path[512], longer[5000] = "";
    bench_open(&bench, 40, 1, 10);
    lesson_write(&bench.folder, "file", "x");
    ck_assert_int_eq(refused(&bench, folder_path(&bench.folder, "file", path)), -ENOTDIR);
    ck_assert_ptr_nonnull(strstr(bench.fail.text, "cannot make a file in "));
    ck_assert_ptr_nonnull(strstr(bench.fail.text, path));
    ck_assert_int_eq(refused(&bench, folder_path(&bench.folder, "not/there", path)), -ENOENT);
    ck_assert_ptr_nonnull(strstr(bench.fail.text, "cannot make the directory "));
    while (strlen(longer) < 4500)
        lesson_row(longer, sizeof longer, "./././././");
    lesson_row(longer, sizeof longer, bench.path);
    ck_assert_int_eq(refused(&bench, longer), -ENAMETOOLONG);
    ck_assert_uint_eq(bench.memory.now_bytes[MEMORY_OPTIMIZER], tiles_bytes(&bench.plan));
    bench_close(&bench);
}
END_TEST

START_TEST(zeroed_tiles_can_be_closed)
{
    struct tiles tiles = {0};
    tiles_close(&tiles);
    tiles_close(&tiles);
}
END_TEST

Suite *tiles_suite(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tcase = tcase_create("tiles");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, an_update_through_tiles_is_one_in_memory_for_any_count_and_tile, 0,
                        COUNTS * TILES_ARRAYS_MOST * TILES);
    tcase_add_loop_test(tcase, any_part_is_put_and_got_and_nothing_beside_it, 0, TILES);
    tcase_add_test(tcase, a_part_is_read_again_after_a_pass);
    tcase_add_loop_test(tcase, memory_is_three_tiles_of_each_array_and_the_hashes, 0, 7);
    tcase_add_test(tcase, tiles_ahead_are_read_and_those_behind_written_while_one_is_in_use);
    tcase_add_loop_test(tcase, a_pass_may_be_left_at_any_tile, 0, 6);
    tcase_add_test(tcase, two_in_one_folder_do_not_meet_and_leave_nothing);
    tcase_add_loop_test(tcase, a_file_that_is_not_what_was_written_is_an_error_and_never_numbers, 0,
                        MISHAPS);
    tcase_add_loop_test(tcase, a_part_that_is_not_what_was_written_is_an_error, 0, MISHAPS);
    tcase_add_test(tcase, a_disk_that_takes_no_more_ends_the_pass);
    tcase_add_test(tcase, a_place_that_cannot_be_written_is_refused_by_its_name);
    tcase_add_test(tcase, zeroed_tiles_can_be_closed);
    suite_add_tcase(suite, tcase);
    return suite;
}
