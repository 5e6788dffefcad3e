/* reduce_into alone: every type and operation, at any alignment; what wraps, and what a NaN does. */
#include "lesson02_allreduce/reduce.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* Odd: not a multiple of what a vector instruction holds, so its tail is tried too. */
enum { COUNT = 37, TYPES = 5, REDUCTIONS = 4 };

/* Small whole numbers, which every type holds and no operation rounds. */
static double part(int which, int i)
{
    return which == 0 ? 1 + i % 7 : 1 + i % 5;
}

static double expected(enum comm_reduction reduction, int i)
{
    double a = part(0, i), b = part(1, i);
    switch (reduction) {
    case COMM_SUM:
        return a + b;
    case COMM_MIN:
        return b < a ? b : a;
    case COMM_MAX:
        return b > a ? b : a;
    default:
        return a * b;
    }
}

/* One element, to and from a number. */
static void put(void *at, enum comm_type type, double value)
{
    const float f32 = (float)value;
    const int32_t i32 = (int32_t)value;
    const int64_t i64 = (int64_t)value;
    const uint8_t u8 = (uint8_t)value;
    const void *const of[TYPES] = {&f32, &value, &i32, &i64, &u8};
    memcpy(at, of[type], comm_type_bytes(type));
}

static void check_alignment(enum comm_type type, enum comm_reduction reduction, size_t offset)
{
    double own[COUNT + 1];
    uint8_t received[sizeof own + 16], wanted[sizeof own];
    size_t size = comm_type_bytes(type);
    memset(own, 0xAB, sizeof own);
    memset(wanted, 0xAB, sizeof wanted);
    for (int i = 0; i < COUNT; i++) {
        put((uint8_t *)own + (size_t)i * size, type, part(0, i));
        put(received + offset + (size_t)i * size, type, part(1, i));
        put(wanted + (size_t)i * size, type, expected(reduction, i));
    }
    reduce_into(own, received + offset, COUNT, type, reduction);
    ck_assert_msg(memcmp(own, wanted, sizeof own) == 0, "type %d, reduction %d, %zu bytes off",
                  type, reduction, offset);
}

START_TEST(every_type_and_operation_is_right_at_any_alignment_and_ends_where_it_should)
{
    for (int reduction = 0; reduction < REDUCTIONS; reduction++)
        for (size_t offset = 0; offset < 16; offset++)
            check_alignment((enum comm_type)_i, (enum comm_reduction)reduction, offset);
}
END_TEST

START_TEST(none_is_none)
{
    float own = 3, received = 4;
    reduce_into(&own, (const uint8_t *)&received, 0, COMM_F32, COMM_SUM);
    ck_assert_float_eq(own, 3);
}
END_TEST

static void fold_i32(int32_t *own, int32_t received, enum comm_reduction reduction)
{
    reduce_into(own, (const uint8_t *)&received, 1, COMM_I32, reduction);
}

static void fold_i64(int64_t *own, int64_t received, enum comm_reduction reduction)
{
    reduce_into(own, (const uint8_t *)&received, 1, COMM_I64, reduction);
}

START_TEST(whole_numbers_wrap_around)
{
    int32_t i32 = INT32_MAX;
    int64_t i64 = INT64_MAX;
    uint8_t u8 = 250, ten = 10;
    fold_i32(&i32, 1, COMM_SUM);
    ck_assert_int_eq(i32, INT32_MIN);
    fold_i32(&i32, -1, COMM_PRODUCT);
    ck_assert_int_eq(i32, INT32_MIN);
    fold_i64(&i64, 2, COMM_SUM);
    ck_assert_int_eq(i64, INT64_MIN + 1);
    fold_i64(&i64, 3, COMM_PRODUCT);
    ck_assert_int_eq(i64, INT64_MIN + 3);
    reduce_into(&u8, &ten, 1, COMM_U8, COMM_SUM);
    ck_assert_uint_eq(u8, 4);
    u8 = 100;
    reduce_into(&u8, &ten, 1, COMM_U8, COMM_PRODUCT);
    ck_assert_uint_eq(u8, 1000 % 256);
}
END_TEST

START_TEST(whole_numbers_are_ordered_with_their_sign_and_bytes_without)
{
    int32_t i32 = -1;
    int64_t i64 = -1;
    uint8_t u8 = 255, one = 1;
    fold_i32(&i32, 1, COMM_MIN);
    ck_assert_int_eq(i32, -1);
    fold_i32(&i32, 1, COMM_MAX);
    ck_assert_int_eq(i32, 1);
    fold_i64(&i64, (int64_t)1 << 40, COMM_MIN);
    ck_assert_int_eq(i64, -1);
    fold_i64(&i64, (int64_t)1 << 40, COMM_MAX);
    ck_assert_int_eq(i64, (int64_t)1 << 40);
    reduce_into(&u8, &one, 1, COMM_U8, COMM_MAX);
    ck_assert_uint_eq(u8, 255);
    reduce_into(&u8, &one, 1, COMM_U8, COMM_MIN);
    ck_assert_uint_eq(u8, 1);
}
END_TEST

static float fold_f32(float own, float received, enum comm_reduction reduction)
{
    reduce_into(&own, (const uint8_t *)&received, 1, COMM_F32, reduction);
    return own;
}

static double fold_f64(double own, double received, enum comm_reduction reduction)
{
    reduce_into(&own, (const uint8_t *)&received, 1, COMM_F64, reduction);
    return own;
}

/* A minimum that drops a NaN would hide one rank's bad number from the others. */
START_TEST(a_nan_on_either_side_makes_a_nan)
{
    enum comm_reduction reduction = (enum comm_reduction)_i;
    ck_assert(isnan(fold_f32(NAN, 1, reduction)));
    ck_assert(isnan(fold_f32(1, NAN, reduction)));
    ck_assert(isnan(fold_f32(INFINITY, NAN, reduction)));
    ck_assert(isnan(fold_f64((double)NAN, 1, reduction)));
    ck_assert(isnan(fold_f64(1, (double)NAN, reduction)));
    ck_assert(isnan(fold_f64((double)-INFINITY, (double)NAN, reduction)));
}
END_TEST

START_TEST(infinities_follow_arithmetic)
{
    ck_assert_float_eq(fold_f32(1, INFINITY, COMM_SUM), INFINITY);
    ck_assert(isnan(fold_f32(-INFINITY, INFINITY, COMM_SUM)));
    ck_assert(isnan(fold_f32(0, INFINITY, COMM_PRODUCT)));
    ck_assert_float_eq(fold_f32(1, INFINITY, COMM_MIN), 1);
    ck_assert_float_eq(fold_f32(1, INFINITY, COMM_MAX), INFINITY);
    ck_assert_double_eq(fold_f64(1, (double)-INFINITY, COMM_MIN), (double)-INFINITY);
    ck_assert_double_eq(fold_f64(1, (double)-INFINITY, COMM_MAX), 1);
}
END_TEST

START_TEST(of_two_zeros_ones_own_is_kept)
{
    for (int reduction = COMM_MIN; reduction <= COMM_MAX; reduction++) {
        ck_assert(signbit(fold_f32(-0.0f, 0.0f, (enum comm_reduction)reduction)));
        ck_assert(!signbit(fold_f32(0.0f, -0.0f, (enum comm_reduction)reduction)));
        ck_assert(signbit(fold_f64(-0.0, 0.0, (enum comm_reduction)reduction)));
        ck_assert(!signbit(fold_f64(0.0, -0.0, (enum comm_reduction)reduction)));
    }
}
END_TEST

Suite *reduce_suite(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tcase = tcase_create("reduce");
    tcase_add_loop_test(tcase,
                        every_type_and_operation_is_right_at_any_alignment_and_ends_where_it_should,
                        0, TYPES);
    tcase_add_test(tcase, none_is_none);
    tcase_add_test(tcase, whole_numbers_wrap_around);
    tcase_add_test(tcase, whole_numbers_are_ordered_with_their_sign_and_bytes_without);
    tcase_add_loop_test(tcase, a_nan_on_either_side_makes_a_nan, 0, REDUCTIONS);
    tcase_add_test(tcase, infinities_follow_arithmetic);
    tcase_add_test(tcase, of_two_zeros_ones_own_is_kept);
    suite_add_tcase(suite, tcase);
    return suite;
}
