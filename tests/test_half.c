/* Every number of 16 bits, and every float between two of them that matters, against arithmetic in
 * double that shares nothing with the code. */
#include "common/half.h"
#include "common/rng.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* How many of them are tried: each, or watched every 17th. */
enum { PATTERNS = 0x10000, STRIDE = WATCHED ? 17 : 1 };

/* One of the two types, by its numbers. */
struct type {
    int significant, least_exponent; // bits; of the smallest normal number
    double largest;
    uint16_t infinite, quiet; // bits
    uint16_t (*of)(float x);
    float (*value)(uint16_t half);
    void (*round)(float *x, size_t count);
};

static const struct type types[] = {
    {8, -126, 0x1.fep127, 0x7f80, 0x0040, half_bf16_of, half_bf16_value, half_bf16_round},
    {11, -14, 65504, 0x7c00, 0x0200, half_fp16_of, half_fp16_value, half_fp16_round},
};

static bool is_nan(const struct type *type, uint32_t half)
{
    return (half & 0x7fff) > type->infinite;
}

/* What a pattern means, by IEEE 754's formula. */
static double meaning(const struct type *type, uint32_t half)
{
    int fraction = type->significant - 1;
    double digits = half & ((1u << fraction) - 1), sign = half & 0x8000 ? -1 : 1;
    int exponent = (int)((half & 0x7fff) >> fraction);
    if ((half & 0x7fff) == type->infinite)
        return sign * INFINITY;
    if (exponent > 0)
        digits += 1 << fraction;
    return sign *
           ldexp(digits, type->least_exponent - fraction + (exponent > 0 ? exponent - 1 : 0));
}

/* The nearest number of the type to x: divide by the spacing there, let rint() break ties. */
static double nearest(const struct type *type, double x)
{
    int exponent;
    frexp(x, &exponent); // x = 0.5..1 times 2^exponent
    exponent = exponent - 1 < type->least_exponent ? type->least_exponent : exponent - 1;
    double spacing = ldexp(1, exponent - type->significant + 1);
    double near = rint(x / spacing) * spacing;
    return fabs(near) > type->largest ? copysign(INFINITY, x) : near;
}

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

START_TEST(every_pattern_means_what_the_standard_says_and_returns_as_itself)
{
    const struct type *type = &types[_i];
    for (uint32_t half = 0; half < PATTERNS; half++) {
        float value = type->value((uint16_t)half), again = value;
        uint16_t back = type->of(value);
        type->round(&again, 1);
        if (is_nan(type, half)) {
            ck_assert(isnan(value) && isnan(again));
            ck_assert_uint_eq(back, half | type->quiet);
            continue;
        }
        ck_assert(same(value, (float)meaning(type, half)));
        ck_assert_uint_eq(back, half);
        ck_assert(same(again, value));
    }
}
END_TEST

static void check_rounding(const struct type *type, float x)
{
    float rounded = x, expected = (float)nearest(type, (double)x);
    type->round(&rounded, 1);
    ck_assert_msg(same(type->value(type->of(x)), expected), "%a becomes %a, not %a", (double)x,
                  (double)type->value(type->of(x)), (double)expected);
    ck_assert_msg(same(rounded, expected), "%a is rounded to %a, not %a", (double)x,
                  (double)rounded, (double)expected);
}

/* Of each number: itself, half way to the next one, and the floats on either side of that. */
START_TEST(every_tie_goes_to_the_even_and_its_neighbours_to_the_nearest)
{
    const struct type *type = &types[_i];
    for (uint32_t half = 0; half < PATTERNS; half += STRIDE) {
        if ((half & 0x7fff) >= type->infinite)
            continue;
        double here = meaning(type, half), next = meaning(type, half + 1);
        if (isinf(next)) // where it would be, were there room
            next = here + copysign(ldexp(1, ilogb(here) - type->significant + 1), here);
        float tie = (float)((here + next) / 2);
        check_rounding(type, tie);
        check_rounding(type, nextafterf(tie, 0));
        check_rounding(type, nextafterf(tie, copysignf(INFINITY, tie)));
    }
}
END_TEST

START_TEST(any_float_is_rounded_to_the_nearest)
{
    struct rng rng = {.seed = 1, .stream = RNG_TEST};
    for (uint32_t i = 0; i < 1000000; i += STRIDE) {
        uint32_t bits = (uint32_t)rng_bits(&rng, i);
        float x;
        memcpy(&x, &bits, sizeof x);
        if (!isnan(x))
            check_rounding(&types[_i], x);
    }
}
END_TEST

START_TEST(infinities_stay_and_what_is_too_large_joins_them)
{
    const struct type *type = &types[_i];
    ck_assert_uint_eq(type->of(INFINITY), type->infinite);
    ck_assert_uint_eq(type->of(-INFINITY), type->infinite | 0x8000);
    ck_assert_uint_eq(type->of(3.4028235e38f), type->infinite);
    ck_assert_uint_eq(half_fp16_of(65519), 0x7bff);
    ck_assert_uint_eq(half_fp16_of(65520), 0x7c00);
    ck_assert_uint_eq(type->of(-0.0f), 0x8000);
}
END_TEST

/* Even one whose only bit is among those that are dropped. */
START_TEST(no_nan_becomes_an_infinity)
{
    const struct type *type = &types[_i];
    static const uint32_t nans[] = {0x7f800001, 0xff800001, 0x7fffffff, 0x7fc00000, 0x7f900000};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float x;
        memcpy(&x, &nans[i], sizeof x);
        ck_assert(is_nan(type, type->of(x)));
        ck_assert(type->of(x) & type->quiet);
        type->round(&x, 1);
        ck_assert(isnan(x));
    }
}
END_TEST

START_TEST(arrays_are_packed_and_unpacked_like_single_numbers)
{
    enum { COUNT = 1003 };
    float x[COUNT], back[COUNT];
    uint16_t packed[COUNT];
    struct rng rng = {.seed = 2, .stream = RNG_TEST};
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = ldexpf(rng_uniform(&rng, i) - 0.5f, (int)(i % 60) - 30);
    half_bf16_pack(packed, x, COUNT);
    half_bf16_unpack(back, packed, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(packed[i], half_bf16_of(x[i]));
        ck_assert(same(back[i], half_bf16_value(packed[i])));
    }
    half_bf16_round(x, COUNT);
    ck_assert(memcmp(x, back, sizeof x) == 0);
}
END_TEST

Suite *half_suite(void)
{
    enum { TYPES = sizeof types / sizeof *types };
    Suite *suite = suite_create("half");
    TCase *tcase = tcase_create("half");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_pattern_means_what_the_standard_says_and_returns_as_itself, 0,
                        TYPES);
    tcase_add_loop_test(tcase, every_tie_goes_to_the_even_and_its_neighbours_to_the_nearest, 0,
                        TYPES);
    tcase_add_loop_test(tcase, any_float_is_rounded_to_the_nearest, 0, TYPES);
    tcase_add_loop_test(tcase, infinities_stay_and_what_is_too_large_joins_them, 0, TYPES);
    tcase_add_loop_test(tcase, no_nan_becomes_an_infinity, 0, TYPES);
    tcase_add_test(tcase, arrays_are_packed_and_unpacked_like_single_numbers);
    suite_add_tcase(suite, tcase);
    return suite;
}
