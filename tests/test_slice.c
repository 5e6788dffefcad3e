/* Slices tile a vector, for every count a size_t can hold. */
#include "common/slice.h"
#include "tests/suites.h"

#include <check.h>
#include <stdint.h>

static const size_t counts[] = {
    0, 1, 2, 3, 7, 10, 17, 19, 64, 1000003, ((size_t)1 << 29) + 3, ((size_t)1 << 32) + 1, SIZE_MAX};
enum { COUNTS = sizeof counts / sizeof *counts };

START_TEST(slices_tile_the_vector)
{
    size_t count = counts[_i];
    for (size_t parts = 1; parts <= 17; parts++) {
        size_t end = 0;
        for (size_t i = 0; i < parts; i++) {
            struct slice slice = slice_of(count, parts, i);
            ck_assert_uint_eq(slice.begin, end);
            ck_assert(slice.count == count / parts || slice.count == count / parts + 1);
            end = slice.begin + slice.count;
        }
        ck_assert_uint_eq(end, count);
    }
}
END_TEST

START_TEST(longer_slices_come_first)
{
    static const size_t expected[3][8] = {
        {2, 2, 1, 1, 1, 1, 1, 1}, {3, 3, 3, 2, 2, 2, 2, 2}, {1, 1, 1, 0, 0, 0, 0, 0}};
    static const size_t wholes[3] = {10, 19, 3};
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(slice_of(wholes[_i], 8, i).count, expected[_i][i]);
}
END_TEST

START_TEST(overlap_is_what_both_hold)
{
    struct slice both = slice_overlap((struct slice){2, 6}, (struct slice){5, 9});
    ck_assert_uint_eq(both.begin, 5);
    ck_assert_uint_eq(both.count, 3);
    ck_assert_uint_eq(slice_overlap((struct slice){0, 5}, (struct slice){5, 9}).count, 0);
    ck_assert_uint_eq(slice_overlap((struct slice){9, 5}, (struct slice){0, 3}).count, 0);
}
END_TEST

Suite *slice_suite(void)
{
    Suite *suite = suite_create("slice");
    TCase *tcase = tcase_create("slice");
    tcase_add_loop_test(tcase, slices_tile_the_vector, 0, COUNTS);
    tcase_add_loop_test(tcase, longer_slices_come_first, 0, 3);
    tcase_add_test(tcase, overlap_is_what_both_hold);
    suite_add_tcase(suite, tcase);
    return suite;
}
