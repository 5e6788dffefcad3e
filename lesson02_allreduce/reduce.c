/*
 * reduce: plain loops, one per type and operation. See the header.
 *
 * Each received element is read by memcpy, which compiles to an unaligned load, so the compiler
 * makes vector instructions of the whole loop. The loops differ in nothing but the type and the
 * line in the middle, so a macro writes them: the only one in the course.
 */
#include "lesson02_allreduce/reduce.h"

#include <string.h>

typedef void fold(void *own, const uint8_t *received, size_t count);

/* One loop: `expression` makes the new value of `a`, one's own, and `b`, the received one. */
#define FOLD(name, element, expression)                                                            \
    static void name(void *restrict own, const uint8_t *restrict received, size_t count)           \
    {                                                                                              \
        element *restrict elements = own; /* NOLINT(bugprone-macro-parentheses): a type */         \
        for (size_t i = 0; i < count; i++) {                                                       \
            element a = elements[i], b;                                                            \
            memcpy(&b, received + i * sizeof b, sizeof b);                                         \
            elements[i] = (element)(expression);                                                   \
        }                                                                                          \
    }

FOLD(sum_f32, float, a + b)
FOLD(sum_f64, double, a + b)
FOLD(sum_32, uint32_t, a + b)
FOLD(sum_64, uint64_t, a + b)
FOLD(sum_8, uint8_t, a + b)

FOLD(product_f32, float, a *b)
FOLD(product_f64, double, a *b)
FOLD(product_32, uint32_t, a *b)
FOLD(product_64, uint64_t, a *b)
FOLD(product_8, uint8_t, a *b)

/* b != b: b is no number. A NaN of one's own stays, for no comparison with it is true. */
FOLD(min_f32, float, b < a || b != b ? b : a)
FOLD(min_f64, double, b < a || b != b ? b : a)
FOLD(min_i32, int32_t, b < a ? b : a)
FOLD(min_i64, int64_t, b < a ? b : a)
FOLD(min_u8, uint8_t, b < a ? b : a)

FOLD(max_f32, float, b > a || b != b ? b : a)
FOLD(max_f64, double, b > a || b != b ? b : a)
FOLD(max_i32, int32_t, b > a ? b : a)
FOLD(max_i64, int64_t, b > a ? b : a)
FOLD(max_u8, uint8_t, b > a ? b : a)

#undef FOLD

/* (reduction, type) */
static fold *const folds[4][5] = {
    [COMM_SUM] = {[COMM_F32] = sum_f32,
                  [COMM_F64] = sum_f64,
                  [COMM_I32] = sum_32,
                  [COMM_I64] = sum_64,
                  [COMM_U8] = sum_8},
    [COMM_MIN] = {[COMM_F32] = min_f32,
                  [COMM_F64] = min_f64,
                  [COMM_I32] = min_i32,
                  [COMM_I64] = min_i64,
                  [COMM_U8] = min_u8},
    [COMM_MAX] = {[COMM_F32] = max_f32,
                  [COMM_F64] = max_f64,
                  [COMM_I32] = max_i32,
                  [COMM_I64] = max_i64,
                  [COMM_U8] = max_u8},
    [COMM_PRODUCT] = {[COMM_F32] = product_f32,
                      [COMM_F64] = product_f64,
                      [COMM_I32] = product_32,
                      [COMM_I64] = product_64,
                      [COMM_U8] = product_8},
};

void reduce_into(void *own, const uint8_t *received, size_t count, enum comm_type type,
                 enum comm_reduction reduction)
{
    folds[reduction][type](own, received, count);
}
