/* Each usual cause, made by hand, is named; what only looks like one is not. */
#include "common/locate.h"
#include "common/slice.h"
#include "tests/suites.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 42, WORLD = 4 }; // shards 0-10, 11-21, 22-31, 32-41

struct example {
    float found[COUNT], expected[COUNT], before[COUNT];
};

/* Expected values as gradients are: of all sizes and both signs, every seventh zero. Those of the
 * step before are others. Found starts equal to expected. */
static void example_make(struct example *example)
{
    for (int i = 0; i < COUNT; i++) {
        example->expected[i] = i % 7 == 3 ? 0 : sinf((float)i) * ldexpf(0.3f, -(i % 11));
        example->before[i] = i % 7 == 3 ? 0 : cosf((float)i) * ldexpf(0.2f, -(i % 5));
    }
    memcpy(example->found, example->expected, sizeof example->found);
}

static const char *said_of(const struct example *example, size_t world, bool part, char *text)
{
    struct locate locate = {.found = example->found,
                            .expected = example->expected,
                            .before = example->before,
                            .count = COUNT,
                            .world = world,
                            .part = part};
    locate_cause(&locate, text);
    ck_assert_uint_lt(strlen(text), LOCATE_TEXT_BYTES - 1); // nothing was cut off
    return text;
}

static void assert_said(const struct example *example, const char *part_of_it)
{
    char text[LOCATE_TEXT_BYTES];
    said_of(example, WORLD, false, text);
    ck_assert_msg(strstr(text, part_of_it) != NULL, "'%s' lacks '%s'", text, part_of_it);
}

static void assert_not_said(const struct example *example, const char *part_of_it)
{
    char text[LOCATE_TEXT_BYTES];
    said_of(example, WORLD, false, text);
    ck_assert_msg(strstr(text, part_of_it) == NULL, "'%s' says '%s'", text, part_of_it);
}

START_TEST(no_difference_has_no_cause)
{
    struct example example;
    example_make(&example);
    assert_said(&example, "nothing differs");
}
END_TEST

/* --- factors --------------------------------------------------------------------------------- */

static const struct {
    float factor;
    const char *said;
} factors[] = {
    {4, "every value is 4 times the expected one: summed over 4 ranks, not averaged"},
    {0.25f, "every value is 1/4 of the expected one: divided by 4 ranks twice"},
    {2, "2 times the expected one: a constant factor that is not the number of ranks"},
    {3, "3 times the expected one: a constant factor"},
    {64, "64 times the expected one: a constant factor"},
    {1.0f / 7, "1/7 of the expected one: a constant factor"},
    {1.0f / 64, "1/64 of the expected one: a constant factor"},
};

/* Rounded once more than the expected values, as another order of the same sum would. */
START_TEST(a_constant_factor_is_named_with_its_value)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = nextafterf(example.expected[i] * factors[_i].factor, 1);
    for (int i = 3; i < COUNT; i += 7)
        example.found[i] = 0;
    assert_said(&example, factors[_i].said);
}
END_TEST

START_TEST(zeros_that_became_dust_do_not_hide_a_factor)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = 4 * example.expected[i];
    example.found[3] = 1e-9f; // of sums whose terms are about 0.1
    example.found[10] = -0.0f;
    assert_said(&example, "summed over 4 ranks");
}
END_TEST

START_TEST(a_factor_of_one_bucket_is_told_with_its_extent)
{
    struct example example;
    example_make(&example);
    for (int i = 22; i < 32; i++)
        example.found[i] = 4 * example.expected[i];
    assert_said(&example, "all 8 differing values of 42 are 4 times");
    assert_said(&example, "only the shard of rank 2 differs (elements 22 to 31)");
}
END_TEST

START_TEST(a_factor_that_one_element_lacks_is_no_factor)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = 4 * example.expected[i];
    example.found[20] *= 1.001f;
    assert_not_said(&example, "times");
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(factors_that_are_not_whole_are_not_named)
{
    static const float odd[] = {1.5f, 0.75f, 65, 1.0f / 65, -4, 4.01f};
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = odd[_i] * example.expected[i];
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(one_doubled_value_among_many_is_a_coincidence)
{
    struct example example;
    example_make(&example);
    example.found[12] = 4 * example.expected[12];
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(a_single_parameter_has_a_factor)
{
    static const float found[] = {15, 3.75f}, expected = 7.5f;
    static const char *const said[] = {"summed over 2 ranks", "divided by 2 ranks twice"};
    char text[LOCATE_TEXT_BYTES];
    struct locate locate = {.found = &found[_i], .expected = &expected, .count = 1, .world = 2};
    locate_cause(&locate, text);
    ck_assert_msg(strstr(text, said[_i]) != NULL, "%s", text);
}
END_TEST

/* --- the step before, zeros ------------------------------------------------------------------ */

START_TEST(a_stale_bucket_is_named_with_its_shard)
{
    struct example example;
    example_make(&example);
    memcpy(example.found + 11, example.before + 11, 11 * sizeof(float));
    assert_said(&example, "that of the step before: a stale bucket");
    assert_said(&example, "only the shard of rank 1 differs (elements 11 to 21)");
}
END_TEST

START_TEST(a_stale_vector_is_stale_even_when_it_is_a_factor)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = example.before[i] = 4 * example.expected[i];
    assert_said(&example, "every value is that of the step before");
    assert_not_said(&example, "only the shard");
}
END_TEST

START_TEST(almost_stale_is_not_stale)
{
    struct example example;
    example_make(&example);
    memcpy(example.found, example.before, sizeof example.found);
    example.found[30] = nextafterf(example.before[30], 1);
    assert_not_said(&example, "step before");
}
END_TEST

START_TEST(without_a_step_before_nothing_is_stale)
{
    struct example example;
    char text[LOCATE_TEXT_BYTES];
    example_make(&example);
    struct locate locate = {
        .found = example.before, .expected = example.expected, .count = COUNT, .world = WORLD};
    locate_cause(&locate, text);
    ck_assert_str_eq(text, "no usual cause fits");
}
END_TEST

START_TEST(zeros_are_never_written_not_stale)
{
    struct example example;
    example_make(&example);
    for (int i = 32; i < COUNT; i++)
        example.found[i] = example.before[i] = 0;
    assert_said(&example, "zero: never written");
    assert_said(&example, "only the shard of rank 3 differs (elements 32 to 41)");
}
END_TEST

/* --- rounding -------------------------------------------------------------------------------- */

START_TEST(last_bits_are_another_order_of_addition)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = example.expected[i] * (1 + (float)(i % 5 - 2) * FLT_EPSILON);
    example.found[3] = 2e-8f; // a sum that cancelled to zero, in the other order not quite
    assert_said(&example, "in the last bits only: another order of addition");
}
END_TEST

START_TEST(a_small_but_wrong_value_is_more_than_rounding)
{
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = example.expected[i] * (1 + FLT_EPSILON);
    example.found[12] = example.expected[12] * 1.0001f;
    assert_not_said(&example, "last bits");
}
END_TEST

START_TEST(zeros_of_two_signs_differ_in_the_last_bits)
{
    struct example example;
    example_make(&example);
    example.found[3] = -0.0f;
    assert_said(&example, "the one differing value is off in the last bits only");
}
END_TEST

/* --- chunks ---------------------------------------------------------------------------------- */

static void copy_chunk(struct example *example, size_t to, size_t from)
{
    struct slice a = slice_of(COUNT, WORLD, to), b = slice_of(COUNT, WORLD, from);
    size_t count = a.count < b.count ? a.count : b.count;
    memcpy(example->found + a.begin, example->expected + b.begin, count * sizeof(float));
}

/* Also chunks of two lengths: the shorter length is what was exchanged. */
START_TEST(two_swapped_chunks_are_named)
{
    static const size_t pairs[][2] = {{0, 1}, {2, 3}, {0, 3}, {1, 2}};
    char expected[64];
    struct example example;
    example_make(&example);
    copy_chunk(&example, pairs[_i][0], pairs[_i][1]);
    copy_chunk(&example, pairs[_i][1], pairs[_i][0]);
    snprintf(expected, sizeof expected, "chunks %zu and %zu of 4 are swapped", pairs[_i][0],
             pairs[_i][1]);
    assert_said(&example, expected);
}
END_TEST

START_TEST(a_chunk_in_place_of_another_is_named)
{
    struct example example;
    example_make(&example);
    copy_chunk(&example, 1, 3);
    assert_said(&example, "chunk 1 of 4 holds the values of chunk 3: a wrong chunk index");
}
END_TEST

START_TEST(moved_around_is_not_swapped)
{
    struct example example;
    example_make(&example);
    copy_chunk(&example, 0, 2);
    copy_chunk(&example, 1, 0);
    assert_not_said(&example, "swapped");
    assert_said(&example, "chunk 0 of 4 holds the values of chunk 2, others are moved too");
}
END_TEST

START_TEST(a_chunk_moved_and_another_broken_is_neither)
{
    struct example example;
    example_make(&example);
    copy_chunk(&example, 0, 1);
    example.found[35] += 1;
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(only_one_shard_is_named_with_its_range)
{
    struct example example;
    example_make(&example);
    struct slice slice = slice_of(COUNT, WORLD, (size_t)_i);
    for (size_t i = slice.begin; i < slice.begin + slice.count; i++)
        example.found[i] = 0.37f - 0.5f * example.expected[i];
    char expected[96];
    snprintf(expected, sizeof expected,
             "an offset, or a part not gathered; only the shard of rank %d differs (elements %zu "
             "to %zu)",
             _i, slice.begin, slice.begin + slice.count - 1);
    assert_said(&example, expected);
}
END_TEST

START_TEST(a_few_wrong_elements_are_not_a_shard)
{
    struct example example;
    example_make(&example);
    for (int i = 22; i < 26; i++)
        example.found[i] = 0.37f - 0.5f * example.expected[i];
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(two_shards_are_not_one)
{
    struct example example;
    example_make(&example);
    for (int i = 15; i < 29; i++)
        example.found[i] = 0.37f - 0.5f * example.expected[i];
    assert_said(&example, "no usual cause fits");
}
END_TEST

START_TEST(a_part_of_a_whole_has_no_shards)
{
    struct example example;
    char text[LOCATE_TEXT_BYTES];
    example_make(&example);
    copy_chunk(&example, 1, 3);
    ck_assert_str_eq(said_of(&example, WORLD, true, text), "no usual cause fits");
    for (int i = 0; i < COUNT; i++)
        example.found[i] = 4 * example.expected[i];
    ck_assert_ptr_nonnull(strstr(said_of(&example, WORLD, true, text), "summed over 4 ranks"));
}
END_TEST

START_TEST(one_rank_has_no_chunks)
{
    struct example example;
    char text[LOCATE_TEXT_BYTES];
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = 0.37f - 0.5f * example.expected[i];
    ck_assert_str_eq(said_of(&example, 1, false, text), "no usual cause fits");
    ck_assert_str_eq(said_of(&example, 2 * COUNT, false, text), "no usual cause fits");
}
END_TEST

/* --- not finite ------------------------------------------------------------------------------ */

START_TEST(what_is_not_finite_is_named_before_anything_else)
{
    static const char *const said[] = {"nan found at element 5, 1 of 42",
                                       "inf expected at element 5, 1 of 42",
                                       "nan on both sides at element 5, 1 of 42"};
    struct example example;
    example_make(&example);
    for (int i = 0; i < COUNT; i++)
        example.found[i] = 4 * example.expected[i];
    if (_i != 1)
        example.found[5] = NAN;
    if (_i != 0)
        example.expected[5] = _i == 1 ? INFINITY : NAN;
    assert_said(&example, said[_i]);
}
END_TEST

Suite *locate_suite(void)
{
    Suite *suite = suite_create("locate");
    TCase *tcase = tcase_create("locate");
    tcase_add_test(tcase, no_difference_has_no_cause);
    tcase_add_loop_test(tcase, a_constant_factor_is_named_with_its_value, 0, 7);
    tcase_add_test(tcase, zeros_that_became_dust_do_not_hide_a_factor);
    tcase_add_test(tcase, a_factor_of_one_bucket_is_told_with_its_extent);
    tcase_add_test(tcase, a_factor_that_one_element_lacks_is_no_factor);
    tcase_add_loop_test(tcase, factors_that_are_not_whole_are_not_named, 0, 6);
    tcase_add_test(tcase, one_doubled_value_among_many_is_a_coincidence);
    tcase_add_loop_test(tcase, a_single_parameter_has_a_factor, 0, 2);
    tcase_add_test(tcase, a_stale_bucket_is_named_with_its_shard);
    tcase_add_test(tcase, a_stale_vector_is_stale_even_when_it_is_a_factor);
    tcase_add_test(tcase, almost_stale_is_not_stale);
    tcase_add_test(tcase, without_a_step_before_nothing_is_stale);
    tcase_add_test(tcase, zeros_are_never_written_not_stale);
    tcase_add_test(tcase, last_bits_are_another_order_of_addition);
    tcase_add_test(tcase, a_small_but_wrong_value_is_more_than_rounding);
    tcase_add_test(tcase, zeros_of_two_signs_differ_in_the_last_bits);
    tcase_add_loop_test(tcase, two_swapped_chunks_are_named, 0, 4);
    tcase_add_test(tcase, a_chunk_in_place_of_another_is_named);
    tcase_add_test(tcase, moved_around_is_not_swapped);
    tcase_add_test(tcase, a_chunk_moved_and_another_broken_is_neither);
    tcase_add_loop_test(tcase, only_one_shard_is_named_with_its_range, 0, WORLD);
    tcase_add_test(tcase, a_few_wrong_elements_are_not_a_shard);
    tcase_add_test(tcase, two_shards_are_not_one);
    tcase_add_test(tcase, a_part_of_a_whole_has_no_shards);
    tcase_add_test(tcase, one_rank_has_no_chunks);
    tcase_add_loop_test(tcase, what_is_not_finite_is_named_before_anything_else, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
