/* The two equalities can fail: on a bit, on a bound, and on everything that is not a number. */
#include "common/compare.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { COUNT = 9 };
static const float ramp[COUNT] = {0, 1, -2, 3, -4, 5, -6, 7, -8};

static struct compare bits_of(const float *left, const float *right, size_t count)
{
    struct compare compare = {0};
    compare_bits(&compare, left, right, count);
    return compare;
}

START_TEST(equal_bits_are_equal_for_every_count)
{
    for (size_t count = 0; count <= COUNT; count++) {
        struct compare compare = bits_of(ramp, ramp, count);
        ck_assert(compare_equal(&compare));
        ck_assert_uint_eq(compare.count, count);
        ck_assert(compare.largest == 0);
    }
}
END_TEST

START_TEST(one_bit_of_one_element_is_found_wherever_it_is)
{
    float other[COUNT];
    memcpy(other, ramp, sizeof ramp);
    other[_i] = nextafterf(ramp[_i], 100.0f);
    struct compare compare = bits_of(ramp, other, COUNT);
    ck_assert(!compare_equal(&compare));
    ck_assert_uint_eq(compare.different, 1);
    ck_assert_uint_eq(compare.first, _i);
    ck_assert(compare.left == ramp[_i] && compare.right == other[_i]);
    ck_assert(compare.largest == fabs((double)ramp[_i] - (double)other[_i]));
}
END_TEST

START_TEST(a_vector_in_pieces_is_one_vector)
{
    float other[COUNT];
    memcpy(other, ramp, sizeof ramp);
    other[5] = 6;
    other[8] = 0;
    struct compare compare = {0};
    compare_bits(&compare, ramp, other, 4);
    compare_bits(&compare, ramp + 4, other + 4, 0);
    compare_bits(&compare, ramp + 4, other + 4, 5);
    ck_assert_uint_eq(compare.count, COUNT);
    ck_assert_uint_eq(compare.different, 2);
    ck_assert_uint_eq(compare.first, 5);
    ck_assert(compare.left == 5 && compare.right == 6 && compare.largest == 8);
}
END_TEST

START_TEST(zeros_of_two_signs_differ_in_bits_and_not_within_a_bound)
{
    float plus = 0.0f, minus = -0.0f;
    double bound = 0;
    struct compare exact = bits_of(&plus, &minus, 1), bounded = {0};
    compare_bounded(&bounded, &plus, &minus, &bound, 1);
    ck_assert(!compare_equal(&exact));
    ck_assert(exact.largest == 0);
    ck_assert(compare_equal(&bounded));
}
END_TEST

static const float not_finite[] = {NAN, INFINITY, -INFINITY};

/* Left, right, or both: a NaN is not even equal to itself. */
START_TEST(what_is_not_finite_fails_both_equalities)
{
    float bad = not_finite[_i % 3];
    float left = _i / 3 == 1 ? 1 : bad, right = _i / 3 == 0 ? 1 : bad;
    double bound = 1e300;
    struct compare exact = bits_of(&left, &right, 1), bounded = {0};
    compare_bounded(&bounded, &left, &right, &bound, 1);
    ck_assert(!compare_equal(&exact));
    ck_assert(!compare_equal(&bounded));
    ck_assert(isinf(exact.largest) && isinf(bounded.largest) && isinf(bounded.largest_share));
}
END_TEST

static const double useless[] = {NAN, INFINITY, -INFINITY, -1};

START_TEST(a_bound_that_proves_nothing_fails)
{
    float value = 1;
    struct compare compare = {0};
    compare_bounded(&compare, &value, &value, &useless[_i], 1);
    ck_assert(!compare_equal(&compare));
}
END_TEST

START_TEST(each_element_has_its_own_bound)
{
    static const float left[4] = {1, 10, 100, 0}, right[4] = {1.5f, 10, 96, 0};
    static const double wide[4] = {0.5, 0, 8, 0}, narrow[4] = {0.5, 0, 3.999, 0};
    struct compare kept = {0}, broken = {0};
    compare_bounded(&kept, left, right, wide, 4);
    compare_bounded(&broken, left, right, narrow, 4);
    ck_assert(compare_equal(&kept));
    ck_assert(kept.largest == 4 && kept.largest_share == 1);
    ck_assert_uint_eq(broken.different, 1);
    ck_assert_uint_eq(broken.first, 2);
    ck_assert(broken.largest_share > 1);
}
END_TEST

START_TEST(hash_is_the_same_for_the_same_bits)
{
    float copy[COUNT + 1];
    for (size_t count = 0; count <= COUNT; count++) {
        memcpy(copy + 1, ramp, sizeof ramp);
        ck_assert(compare_hash(ramp, count * 4) == compare_hash(copy + 1, count * 4));
    }
}
END_TEST

START_TEST(hash_sees_every_bit)
{
    float other[COUNT];
    uint64_t hash = compare_hash(ramp, sizeof ramp);
    for (size_t bit = 0; bit < sizeof ramp * 8; bit++) {
        memcpy(other, ramp, sizeof ramp);
        ((unsigned char *)other)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert(compare_hash(other, sizeof other) != hash);
    }
}
END_TEST

START_TEST(hash_sees_order_length_and_signs)
{
    static const float zeros[5] = {0}, swapped[4] = {3, 4, 1, 2}, plain[4] = {1, 2, 3, 4};
    static const float negative[4] = {-1, -2, -3, -4}, odd[4] = {1, -2, 3, -4};
    uint64_t hash = compare_hash(plain, sizeof plain);
    ck_assert(compare_hash(swapped, sizeof swapped) != hash);
    ck_assert(compare_hash(negative, sizeof negative) != hash);
    ck_assert(compare_hash(odd, sizeof odd) != hash); // plain FNV over words misses this one
    for (size_t a = 0; a <= sizeof zeros; a++)
        for (size_t b = 0; b < a; b++)
            ck_assert(compare_hash(zeros, a) != compare_hash(zeros, b));
}
END_TEST

/* Long enough for all of the hash's lanes, in each of which a word could be lost or moved. */
START_TEST(hash_of_a_long_array_sees_where_each_word_is)
{
    uint64_t words[40], moved[40];
    for (size_t i = 0; i < 40; i++)
        words[i] = i * 0x9e3779b97f4a7c15;
    uint64_t hash = compare_hash(words, sizeof words);
    for (size_t i = 0; i < 40; i++)
        for (size_t j = 0; j < i; j++) {
            memcpy(moved, words, sizeof words);
            moved[i] = words[j];
            ck_assert(compare_hash(moved, sizeof moved) != hash);
            moved[j] = words[i];
            ck_assert(compare_hash(moved, sizeof moved) != hash);
        }
    ck_assert(compare_hash(words, 38 * 8) != compare_hash(words + 1, 38 * 8));
}
END_TEST

Suite *compare_suite(void)
{
    Suite *suite = suite_create("compare");
    TCase *tcase = tcase_create("compare");
    tcase_add_test(tcase, equal_bits_are_equal_for_every_count);
    tcase_add_loop_test(tcase, one_bit_of_one_element_is_found_wherever_it_is, 0, COUNT);
    tcase_add_test(tcase, a_vector_in_pieces_is_one_vector);
    tcase_add_test(tcase, zeros_of_two_signs_differ_in_bits_and_not_within_a_bound);
    tcase_add_loop_test(tcase, what_is_not_finite_fails_both_equalities, 0, 9);
    tcase_add_loop_test(tcase, a_bound_that_proves_nothing_fails, 0, 4);
    tcase_add_test(tcase, each_element_has_its_own_bound);
    tcase_add_test(tcase, hash_is_the_same_for_the_same_bits);
    tcase_add_test(tcase, hash_sees_every_bit);
    tcase_add_test(tcase, hash_sees_order_length_and_signs);
    tcase_add_test(tcase, hash_of_a_long_array_sees_where_each_word_is);
    suite_add_tcase(suite, tcase);
    return suite;
}
