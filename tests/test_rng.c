/* Philox gives the published numbers; streams do not meet; permutations permute. */
#include "common/rng.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

/* The known answers distributed with the authors' Random123 library (kat_vectors, philox4x32
 * 10). */
static const struct {
    uint32_t counter[4], key[2], expected[4];
} answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_published_answers)
{
    uint32_t out[4];
    rng_philox(answers[_i].counter, answers[_i].key, out);
    ck_assert_mem_eq(out, answers[_i].expected, sizeof out);
}
END_TEST

START_TEST(streams_differ_by_seed_stream_and_sub)
{
    struct rng base = {.seed = 1, .stream = RNG_WEIGHTS, .sub = 0};
    struct rng others[3] = {base, base, base};
    others[0].seed = 2;
    others[1].stream = RNG_SHUFFLE;
    others[2].sub = 1;
    for (int other = 0; other < 3; other++) {
        int equal = 0;
        for (uint64_t i = 0; i < 1000; i++)
            equal += rng_bits(&base, i) == rng_bits(&others[other], i);
        ck_assert_int_eq(equal, 0);
    }
}
END_TEST

START_TEST(uniform_is_in_the_half_open_interval_and_even)
{
    struct rng rng = {.seed = 7, .stream = RNG_TEST};
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        float x = rng_uniform(&rng, i);
        ck_assert(x >= 0 && x < 1);
        sum += x;
    }
    /* The mean of n uniform numbers deviates by 1/sqrt(12 n), here 0.0009: five of these. */
    ck_assert_double_eq_tol(sum / 100000, 0.5, 0.0046);
}
END_TEST

START_TEST(permutation_holds_each_index_once)
{
    enum { COUNT = 1000 };
    uint32_t order[COUNT], again[COUNT], other[COUNT];
    char seen[COUNT] = {0};
    struct rng rng = {.seed = 3, .stream = RNG_SHUFFLE, .sub = 0}, next = rng;
    next.sub = 1;
    rng_permutation(&rng, order, COUNT);
    rng_permutation(&rng, again, COUNT);
    rng_permutation(&next, other, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        seen[order[i]]++;
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(seen[i], 1);
    ck_assert_mem_eq(order, again, sizeof order);
    ck_assert_mem_ne(order, other, sizeof order);
}
END_TEST

Suite *rng_suite(void)
{
    Suite *suite = suite_create("rng");
    TCase *tcase = tcase_create("rng");
    tcase_add_loop_test(tcase, philox_gives_the_published_answers, 0, 3);
    tcase_add_test(tcase, streams_differ_by_seed_stream_and_sub);
    tcase_add_test(tcase, uniform_is_in_the_half_open_interval_and_even);
    tcase_add_test(tcase, permutation_holds_each_index_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
